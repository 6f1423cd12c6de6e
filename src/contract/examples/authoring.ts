/** Examples of proposals and groupings. */

import type { z } from "zod";
import type { GroupingAnswer, GroupingRequest, ProposedItem, ProposeRequest } from "../authoring.ts";
import { ITEM, key, url } from "./backlog.ts";
import type { Example } from "./example.ts";

export const AUTHORING_EXAMPLES = {
  ProposeRequest: [
    { title: "the least", value: { title: "Speed up the parser" } },
    {
      title: "below an epic, after another item",
      value: {
        title: "Speed up the parser",
        body: "It is slow on long lines.",
        tags: ["team:red"],
        parent: 2,
        blockedBy: [3],
      },
    },
  ] satisfies Example<z.input<typeof ProposeRequest>>[],
  ProposedItem: [
    {
      title: "it waits for a human",
      value: {
        ...ITEM,
        labels: ["backlog", "needs-specification"],
        admitted: false,
        admittedBy: null,
        author: "leasehold[bot]",
        reasons: [
          {
            reason: "not_admitted",
            detail:
              "waits for a human with triage rights, who admits it by taking the label needs-specification off",
          },
        ],
        similar: [{ number: 4, title: "Speed up parsing", url: url(4) }],
      },
    },
  ] satisfies Example<ProposedItem>[],
  GroupingRequest: [
    {
      title: "a seam, a fan-out of one, and the integration",
      value: {
        epic: { title: "The parser", body: "Twice as fast.", type: "feat", slug: "parser" },
        items: [
          { ref: "seam", title: "An interface", phase: "implementation", priority: "P1" },
          { ref: "fast", title: "A faster parser", blockedBy: ["seam"], anchoredTo: ["src/parser.ts"] },
          { ref: "join", title: "Integrate", phase: "integration", blockedBy: ["fast"] },
        ],
      },
    },
  ] satisfies Example<z.input<typeof GroupingRequest>>[],
  Grouping: [
    {
      title: "made",
      value: {
        epic: {
          ...ITEM,
          number: 30,
          key: key(30),
          url: url(30),
          title: "The parser",
          reasons: [
            {
              reason: "grouping",
              detail:
                "is a grouping: its parts are worked on, not it, unless it is claimed whole (scope: subtree)",
            },
          ],
        },
        items: { seam: 31, fast: 32, join: 33 },
        criticalPath: 3,
        width: 1,
        mermaid: "flowchart LR\n  31 --> 32\n  32 --> 33",
        branch: "feat/epic/parser",
      },
    },
  ] satisfies Example<GroupingAnswer>[],
};
