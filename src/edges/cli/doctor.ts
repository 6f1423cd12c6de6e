/** `leasehold doctor`: where the store and GitHub differ, and repairing it. */

import { parseArgs } from "node:util";
import { DoctorAnswer } from "../../contract/doctor.ts";
import { type Command, UsageError } from "./command.ts";

export const doctor: Command = {
  usage: "doctor <owner/name> [--repair] [--json]",
  summary: "Compare the store with GitHub, field by field; exits with 1 when they differ",
  run: async (args, { api, out }) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { repair: { type: "boolean" }, json: { type: "boolean" } },
      allowPositionals: true,
    });
    const [repo, more] = positionals;
    if (repo === undefined) throw new UsageError("doctor needs a repository");
    if (more !== undefined) throw new UsageError(`doctor takes one repository, not also "${more}"`);
    const answer = DoctorAnswer.parse(
      values.repair
        ? await api.call("POST", "/api/v1/doctor", { repo })
        : await api.call("GET", `/api/v1/doctor?repo=${encodeURIComponent(repo)}`),
    );
    if (values.json) out(JSON.stringify(answer, null, 2));
    else for (const line of linesOf(answer)) out(line);
    return answer.total === 0 ? 0 : 1;
  },
};

function linesOf({ repo, drift, total, compared, pendingDeliveries, repaired }: DoctorAnswer): string[] {
  const { issues, comments, pullRequests, branches } = compared;
  const lines = drift.flatMap(({ kind, what, field, store, github }) => [
    `${kind} ${what}: ${field}`,
    `  store:  ${JSON.stringify(store)}`,
    `  GitHub: ${JSON.stringify(github)}`,
  ]);
  if (total > drift.length) lines.push(`and ${total - drift.length} more`);
  if (repaired !== null && repaired > 0)
    lines.push(repaired === 1 ? "1 difference was repaired" : `${repaired} differences were repaired`);
  if (repaired !== null && total > 0)
    lines.push(
      "what is left is mostly younger than two minutes: news may still tell who did it. Run it again after that",
    );
  if (pendingDeliveries > 0)
    lines.push(`${pendingDeliveries} deliveries wait to be worked off: what they tell shows as a difference`);
  lines.push(
    `${repo}: ${total === 0 ? "no difference" : `${total} difference${total === 1 ? "" : "s"}`} in ${issues} issues, ${pullRequests} pull ` +
      `requests, ${comments} markers and ${branches} branches`,
  );
  return lines;
}
