/** What every refusal must look like: RFC 9457, a documented code, and nothing that is not the caller's business. */

import { expect } from "vitest";
import type { Answer } from "../../harness/api-client.ts";

export interface Wanted {
  readonly status: number;
  readonly code: string;
  /** The field that the answer must name. */
  readonly field?: string;
}

const SHAPE = ["type", "title", "status", "detail", "code", "retryAfterMs", "lateResult", "errors"];

export function expectProblem(answer: Answer, { status, code, field }: Wanted): void {
  expect({ status: answer.status, code: answer.body?.code }).toEqual({ status, code });
  expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json\b/);
  expect(answer.body).toMatchObject({
    type: expect.stringContaining(code),
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(/\S/),
  });
  expect(Object.keys(answer.body).filter((key) => !SHAPE.includes(key))).toEqual([]);
  if (field !== undefined) {
    expect(answer.body.errors?.map((error: { field: string }) => error.field)).toContain(field);
    expect(answer.body.detail).toContain(field.split(".")[0]);
  }
  expectNoLeak(JSON.stringify(answer.body));
}

/** No stack trace, no path of ours, no secret. */
export function expectNoLeak(text: string): void {
  expect(text).not.toMatch(/\bat \S+ \(|node_modules|file:\/\/|\/src\/|\.ts:\d/);
  expect(text).not.toContain("lh_test_admin_token");
  expect(text).not.toContain("a-webhook-secret");
  expect(text).not.toContain("PRIVATE KEY");
}
