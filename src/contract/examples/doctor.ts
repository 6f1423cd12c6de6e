/** Examples of what the doctor is asked and answers. */

import type { z } from "zod";
import type { DoctorAnswer, DoctorRequest } from "../doctor.ts";
import type { Example } from "./example.ts";

const compared = { issues: 41, comments: 12, pullRequests: 9, branches: 9 };

export const DOCTOR_EXAMPLES = {
  DoctorRequest: [{ title: "of one repository", value: { repo: "acme/widgets" } }] satisfies Example<
    z.input<typeof DoctorRequest>
  >[],
  DoctorAnswer: [
    {
      title: "three differences",
      value: {
        repo: "acme/widgets",
        drift: [
          { kind: "issue", what: "#7", field: "labels", store: ["backlog"], github: ["P0", "backlog"] },
          { kind: "issue", what: "#9", field: "gone", store: null, github: "deleted" },
          {
            kind: "link",
            what: "#12 blockedBy",
            field: "mem/backlog/issue-7",
            store: false,
            github: true,
          },
        ],
        total: 3,
        compared,
        pendingDeliveries: 0,
        repaired: null,
      },
    },
    {
      title: "repaired",
      value: { repo: "acme/widgets", drift: [], total: 0, compared, pendingDeliveries: 0, repaired: 3 },
    },
  ] satisfies Example<DoctorAnswer>[],
};
