import { notFound, validationFailed } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { labelJson, labelReferenceJson } from "../payloads/repositories.ts";
import { assertWritable } from "./assert-writable.ts";
import { emit } from "./emit.ts";
import { emitForIssue, record, touch } from "./issue-events.ts";
import type { Actor, Label, Repository } from "./model.ts";
import type { World } from "./world.ts";

export type LabelFields = {
  name?: string | undefined;
  color?: string | undefined;
  description?: string | null | undefined;
};

export function findLabel(repository: Repository, name: string): Label {
  const label = repository.labels.get(name.toLowerCase());
  if (!label) throw notFound();
  return label;
}

export function createLabel(
  world: World,
  by: Actor,
  repository: Repository,
  fields: LabelFields & { name: string },
): Label {
  assertWritable(repository);
  const key = fields.name.toLowerCase();
  if (repository.labels.has(key)) throw validationFailed("Label", "name", "already_exists");
  const label: Label = {
    id: world.nextId(),
    name: fields.name,
    color: fields.color ?? "ededed",
    description: fields.description ?? null,
  };
  repository.labels.set(key, label);
  emitForLabel(world, by, repository, label, "created");
  return label;
}

/** One `label.edited`, and no event for any issue that carries it. */
export function editLabel(
  world: World,
  by: Actor,
  repository: Repository,
  label: Label,
  edit: LabelFields,
): void {
  assertWritable(repository);
  const changes: JsonObject = {};
  if (edit.name !== undefined && edit.name !== label.name) {
    rename(repository, label, edit.name, changes);
  }
  if (edit.color !== undefined && edit.color !== label.color) {
    changes.color = { from: label.color };
    label.color = edit.color;
  }
  if (edit.description !== undefined && edit.description !== label.description) {
    changes.description = { from: label.description };
    label.description = edit.description;
  }
  emitForLabel(world, by, repository, label, "edited", { changes });
}

/** For each issue that had it `unlabeled`, without the label, and then `label.deleted`. */
export function deleteLabel(world: World, by: Actor, repository: Repository, label: Label): void {
  assertWritable(repository);
  repository.labels.delete(label.name.toLowerCase());
  for (const issue of repository.issues.values()) {
    if (!issue.labels.includes(label)) continue;
    issue.labels = issue.labels.filter((other) => other !== label);
    touch(world, issue);
    record(world, by, issue, "unlabeled", { label: labelReferenceJson(label) });
    emitForIssue(world, by, issue, "unlabeled");
  }
  emitForLabel(world, by, repository, label, "deleted");
}

function rename(repository: Repository, label: Label, name: string, changes: JsonObject): void {
  const holder = repository.labels.get(name.toLowerCase());
  if (holder && holder !== label) throw validationFailed("Label", "name", "already_exists");
  changes.name = { from: label.name };
  repository.labels.delete(label.name.toLowerCase());
  label.name = name;
  repository.labels.set(name.toLowerCase(), label);
}

function emitForLabel(
  world: World,
  by: Actor,
  repository: Repository,
  label: Label,
  action: string,
  more: JsonObject = {},
): void {
  emit(world, repository, by, {
    event: "label",
    action,
    fields: () => ({ label: labelJson(world, repository, label), ...more }),
  });
}
