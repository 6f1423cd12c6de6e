/** The record that keeps a result which came too late: readable by a person, and whole for a program. */

export const LATE_RESULTS = "late-results";

export interface LateResult {
  readonly key: string;
  readonly topic: string;
  readonly id: string;
  readonly token: number;
  readonly code: string;
  readonly owner: string;
  readonly request: {
    readonly body?: string | null | undefined;
    readonly resume?:
      | {
          readonly lastLocation?:
            | {
                readonly branch?: string | null | undefined;
                readonly pullRequest?: number | null | undefined;
                readonly sha?: string | null | undefined;
              }
            | null
            | undefined;
          readonly resumeNote?: string | null | undefined;
        }
      | undefined;
  };
}

/** Kept as a `Report`: those never expire. */
export function lateResultRecord(late: LateResult) {
  const { request, key, token, code, owner } = late;
  const { body, resume } = request;
  const { branch, pullRequest, sha } = resume?.lastLocation ?? {};
  const parts = [
    `\`${owner}\` sent this for \`${key}\` under fencing token ${token}, which was refused (\`${code}\`). ` +
      "It was not applied: whoever works on it now decides what of it to use.",
    ...(branch || pullRequest || sha
      ? [
          "Where the work lies: " +
            [
              branch && `branch \`${branch}\``,
              pullRequest && `pull request #${pullRequest}`,
              sha && `commit ${sha}`,
            ]
              .filter(Boolean)
              .join(", "),
        ]
      : []),
    ...(resume?.resumeNote ? [`## Note\n\n${resume.resumeNote}`] : []),
    ...(body ? [`## Body\n\n${body}`] : []),
    `## The request, whole\n\n\`\`\`json\n${JSON.stringify(request, null, 2)}\n\`\`\``,
  ];
  return {
    kind: "Report",
    title: `Late result of ${owner} for ${late.topic}/${late.id} (token ${token})`,
    body: parts.join("\n\n"),
    author: owner,
    provenance: `refused with ${code}`,
    tags: ["late-result", `token:${token}`],
    expiresAt: null,
  };
}
