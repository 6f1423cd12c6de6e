import { HttpError } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { labelJson, labelReferenceJson } from "../payloads/repositories.ts";
import { assertWritable } from "./assert-writable.ts";
import { emitForIssue, record, touch } from "./issue-events.ts";
import type { Actor, Issue, Label } from "./model.ts";
import { createLabel } from "./repository-labels.ts";
import type { World } from "./world.ts";

/**
 * Puts a label on an issue, making it in the repository if it is unknown there. Answers null when the
 * issue has it already. The webhook is left to the caller: at an issue's birth it follows `opened`.
 */
export function addLabel(
  world: World,
  by: Actor,
  issue: Issue,
  name: string,
): { label: Label; announce: () => void } | null {
  assertWritable(issue.repository);
  if (findLabelOn(issue, name)) return null;
  const label =
    issue.repository.labels.get(name.toLowerCase()) ?? createLabel(world, by, issue.repository, { name });
  issue.labels.push(label);
  touch(world, issue);
  record(world, by, issue, "labeled", { label: labelReferenceJson(label) });
  return { label, announce: () => emitForIssue(world, by, issue, "labeled", labelPart(world, issue, label)) };
}

export function labelIssue(world: World, by: Actor, issue: Issue, ...names: string[]): void {
  for (const name of names) addLabel(world, by, issue, name)?.announce();
}

export function unlabelIssue(world: World, by: Actor, issue: Issue, name: string): void {
  assertWritable(issue.repository);
  const label = findLabelOn(issue, name);
  if (!label) throw new HttpError(404, "Label does not exist");
  issue.labels = issue.labels.filter((other) => other !== label);
  touch(world, issue);
  record(world, by, issue, "unlabeled", { label: labelReferenceJson(label) });
  emitForIssue(world, by, issue, "unlabeled", labelPart(world, issue, label));
}

/** Makes the issue's labels exactly these. */
export function setLabels(world: World, by: Actor, issue: Issue, names: readonly string[]): void {
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  for (const label of issue.labels) {
    if (!wanted.has(label.name.toLowerCase())) unlabelIssue(world, by, issue, label.name);
  }
  labelIssue(world, by, issue, ...names);
}

function labelPart(world: World, issue: Issue, label: Label): () => JsonObject {
  return () => ({ label: labelJson(world, issue.repository, label) });
}

function findLabelOn(issue: Issue, name: string): Label | null {
  const wanted = name.toLowerCase();
  return issue.labels.find((label) => label.name.toLowerCase() === wanted) ?? null;
}
