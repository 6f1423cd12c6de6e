import { HttpError, notFound } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { userJson } from "../payloads/accounts.ts";
import { repositoryJson } from "../payloads/repositories.ts";
import { roleOf } from "../state/author-association.ts";
import type { Role } from "../state/model.ts";
import { ok, param } from "./api-request.ts";
import { type RepositoryRequest, type Route, repositoryRoute } from "./route.ts";

export const repositoryRoutes: Route[] = [
  repositoryRoute("GET", "", "metadata:read", ({ world, repository }) =>
    ok({ ...repositoryJson(world, repository), network_count: 0, subscribers_count: 0 }),
  ),
  repositoryRoute("GET", "/collaborators/:login/permission", "metadata:read", (request) =>
    ok(permissionOf(request)),
  ),
];

function permissionOf(request: RepositoryRequest): JsonObject {
  const { world, repository } = request;
  const login = param(request, "login");
  const account = world.findAccount(login);
  if (!account) throw notFound();
  if (account.type !== "User") throw new HttpError(404, `${login} is not a user`);
  const role = roleOf(repository, account);
  return {
    permission: legacyPermission[role],
    role_name: role,
    user: {
      ...userJson(world, account),
      permissions: {
        admin: atLeast(role, "admin"),
        maintain: atLeast(role, "maintain"),
        push: atLeast(role, "write"),
        triage: atLeast(role, "triage"),
        pull: atLeast(role, "read"),
      },
      role_name: role,
    },
  };
}

/** The older field knows neither triage nor maintain. */
const legacyPermission = {
  none: "none",
  read: "read",
  triage: "read",
  write: "write",
  maintain: "write",
  admin: "admin",
} as const satisfies Record<Role, string>;

const ranks: readonly Role[] = ["none", "read", "triage", "write", "maintain", "admin"];

function atLeast(role: Role, needed: Role): boolean {
  return ranks.indexOf(role) >= ranks.indexOf(needed);
}
