/**
 * What each route does for a token with a scope (protocol 10), by `METHOD /path` as the OpenAPI document writes it.
 * A route that is new needs a line here: `item`, `record` or `unscoped` where these say it all, else a case of its own.
 */

import { expect } from "vitest";
import { expectForbidden, item, keyOf, record, type ScopeCase, unscoped } from "./scope-scene.ts";

const R = "/api/v1/repos/{owner}/{repo}";
const ITEM = `${R}/items/{number}`;
const RECORD = `${R}/memory/{topic}/{id}`;
const claim = { body: { owner: "w/scoped" } };
const held = { body: { fencingToken: 1 } };
const numbersOf = (items: readonly { number: number }[]): number[] => items.map(({ number }) => number);

export const SCOPE_CASES: Readonly<Record<string, ScopeCase>> = {
  "GET /health": async ({ scoped }) => {
    const { body } = await scoped.send("GET", "/health");
    expect(body.repos.map(({ repo }: { repo: string }) => repo)).toEqual(["acme/widgets"]);
    expect(body.inbox.failures).toEqual([]);
  },
  "GET /api/v1/repos": async ({ scoped, admin }) => {
    const all = (await admin.send("GET", "/api/v1/repos")).body.repos;
    const { repos } = (await scoped.send("GET", "/api/v1/repos")).body;
    expect(all.map(({ name }: { name: string }) => name)).toContain("gadgets");
    expect(repos).toEqual([
      {
        ...all.find(({ name }: { name: string }) => name === "widgets"),
        items: repos[0].items,
        // It grew between the two.
        mirrorAgeSeconds: expect.any(Number),
      },
    ]);
    // Top, outside and the one alone are not counted.
    expect(repos[0].items).toBe(all.find(({ name }: { name: string }) => name === "widgets").items - 3);
  },
  "POST /api/v1/tokens": unscoped("POST", "/api/v1/tokens", {
    body: { name: "wider", capabilities: ["admin"] },
  }),
  "GET /api/v1/tokens": unscoped("GET", "/api/v1/tokens"),
  "DELETE /api/v1/tokens/{id}": unscoped("DELETE", "/api/v1/tokens/00000000-0000-4000-8000-000000000001"),

  "GET /metrics": unscoped("GET", "/metrics"),
  // Of one repository, and yet not for its own admins: the store is compared whole, whatever the token reaches.
  "GET /api/v1/doctor": unscoped("GET", "/api/v1/doctor?repo=acme/widgets"),
  "POST /api/v1/doctor": unscoped("POST", "/api/v1/doctor", { body: { repo: "acme/widgets" } }),
  "GET /api/v1/outbox": unscoped("GET", "/api/v1/outbox"),
  "POST /api/v1/outbox/{repositoryId}/{id}/retry": unscoped("POST", "/api/v1/outbox/1/1/retry"),
  "GET /api/v1/inbox": unscoped("GET", "/api/v1/inbox"),
  "POST /api/v1/inbox/{id}/retry": unscoped("POST", "/api/v1/inbox/1/retry"),
  "GET /api/v1/resources/leases": async (scene) => {
    const { scoped, admin, spare, outside } = scene;
    const mine = spare();
    await admin.repo("PATCH", `/items/${mine}`, { body: { tags: { add: ["resource:mine"] } } });
    const { fencingToken } = await admin.claim(mine, "w/r");
    await scene.holdBeyond("theirs");
    const keys = async (api: typeof admin) =>
      (await api.send("GET", "/api/v1/resources/leases")).body.leases.map(({ key }: { key: string }) => key);
    expect((await keys(admin)).sort()).toEqual(["mine", "theirs"]);
    expect(await keys(scoped)).toEqual(["mine"]);
    expect(outside).not.toBe(mine);
    await admin.release(mine, fencingToken);
  },
  "GET /api/v1/resources/leases/history": async ({ scoped, admin, spare }) => {
    const mine = spare();
    await admin.repo("PATCH", `/items/${mine}`, { body: { tags: { add: ["resource:once"] } } });
    await admin.release(mine, (await admin.claim(mine, "w/r")).fencingToken);
    const of = async (api: typeof admin, key: string) =>
      (await api.send("GET", `/api/v1/resources/leases/history?key=${key}`)).body.intervals.length;
    expect([await of(scoped, "once"), await of(scoped, "theirs")]).toEqual([1, 0]);
    expect(await of(admin, "theirs")).toBe(1);
  },
  "DELETE /api/v1/resources/leases/{key}": unscoped("DELETE", "/api/v1/resources/leases/theirs"),
  // What a stream tells to whom is shown in test/stories/events.test.ts; here, that it opens.
  "GET /api/v1/events": async ({ scoped, scopedAdmin, world }) => {
    for (const api of [scoped, scopedAdmin]) {
      const answer = await fetch(`${world.app.address}/api/v1/events`, {
        headers: { authorization: api.authorization },
      });
      expect(answer.status).toBe(200);
      await answer.body?.cancel();
    }
  },

  // ------------------------------------------------------------ the backlog

  [`GET ${R}/items/roots`]: async ({ scoped, red, root, inside, outside }) => {
    expect(numbersOf((await scoped.repo("GET", "/items/roots")).items)).toEqual([root]);
    expect(numbersOf((await red.repo("GET", "/items/roots")).items)).toEqual(
      expect.arrayContaining([inside, outside]),
    );
  },
  [`GET ${ITEM}/attempts`]: item("GET", "/attempts"),

  [`GET ${R}/items`]: async ({ scoped, red, root, inside, blocked, outside, top }) => {
    const mine = numbersOf((await scoped.repo("GET", "/items?limit=100")).items);
    expect(mine).toEqual(expect.arrayContaining([root, inside, blocked]));
    expect(mine.filter((number) => [outside, top].includes(number))).toEqual([]);
    expect(numbersOf((await red.repo("GET", "/items?limit=100")).items)).toEqual([inside, outside]);
    // A page is full although what lies between is out of sight, and the next goes on after it.
    const first = await red.repo("GET", "/items?limit=1");
    const second = await red.repo("GET", `/items?limit=1&cursor=${first.nextCursor}`);
    expect(numbersOf([...first.items, ...second.items])).toEqual([inside, outside]);
  },
  [`GET ${ITEM}`]: async (scene) => {
    await item("GET")(scene);
    const { scoped, admin, root, inside, blocked, outside } = scene;
    const whole = await admin.item(blocked);
    expect(whole.links).toMatchObject({ related: [keyOf(outside), keyOf(inside)] });
    const seen = await scoped.item(blocked);
    expect(seen.links).toEqual({
      partOf: [keyOf(root)],
      blockedBy: [keyOf(inside)],
      related: [keyOf(inside)],
    });
    expect(seen.reasons).toEqual([
      {
        reason: "blocked",
        on: [inside],
        detail: `waits for #${inside}; an item out of the scope of this token is not complete`,
      },
    ]);
    expect(await scoped.item(root)).toMatchObject({ epic: null, links: {} });
    expect(JSON.stringify(seen)).not.toContain(`issue-${outside}`);
  },
  [`PATCH ${ITEM}`]: async (scene) => {
    await item("PATCH", "", { body: { tags: { add: ["colour:blue"] } } })(scene);
    const { scoped, red, outside, inside } = scene;
    const mine = scene.spare();
    // Nobody ties what it reaches to what it does not, or takes an item out of its own sight.
    const tie = { links: { add: { blockedBy: [keyOf(outside)] } } };
    expectForbidden(await scoped.tryRepo("PATCH", `/items/${mine}`, { body: tie }));
    const move = { links: { remove: { partOf: [keyOf(scene.root)] } } };
    expectForbidden(await scoped.tryRepo("PATCH", `/items/${mine}`, { body: move }));
    const fade = { tags: { remove: ["team:red"] } };
    expectForbidden(await red.tryRepo("PATCH", `/items/${inside}`, { body: fade }));
    expect((await scene.admin.item(inside)).tags).toContain("team:red");
    expect((await scene.admin.item(mine)).links).toEqual({ partOf: [keyOf(scene.root)] });
  },
  [`GET ${R}/ready`]: async ({ scoped, red, admin, inside, blocked, outside, alone, root }) => {
    const all = await admin.ready("?limit=100");
    const mine = await scoped.ready("?limit=100");
    expect(mine).toMatchObject({ verdict: "ready", pending: all.pending - 3 });
    expect(mine.totals.ready).toBe(mine.ready.length);
    expect(numbersOf(mine.ready)).toEqual(
      numbersOf(all.ready).filter((number) => number !== outside && number !== alone),
    );
    const waiting = mine.waiting.find(({ number }: { number: number }) => number === blocked);
    expect(waiting.reasons).toEqual([
      {
        reason: "blocked",
        on: [inside],
        detail: `waits for #${inside}; an item out of the scope of this token is not complete`,
      },
    ]);
    expect(mine.waiting.map(({ number }: { number: number }) => number)).toContain(root);
    expect(JSON.stringify(mine)).not.toContain(`issue-${outside}`);
    const reds = await red.ready();
    expect(numbersOf(reds.ready)).toEqual([inside]);
    expect(reds).toMatchObject({ pending: 2, verdict: "ready" });
    expect(await red.ready(`?epic=${root}`)).toMatchObject({ pending: 1 });
  },
  [`GET ${R}/report`]: async ({ scoped, red, inside, outside }) => {
    const mine = await scoped.repo("GET", "/report?limit=100");
    expect(JSON.stringify(mine)).not.toMatch(new RegExp(`"number":${outside}\\b|#${outside}\\b|"Outside"`));
    const reds = await red.repo("GET", "/report");
    expect(numbersOf(reds.ready)).toEqual([inside]);
    expect(numbersOf(reds.blocked)).toEqual([outside]);
    expect(reds.totals.pending).toBe(2);
    const text = await red.tryRepo("GET", "/report", { headers: { accept: "text/markdown" } });
    expect(text.body).not.toContain("Spare");
  },
  [`GET ${ITEM}/children`]: async (scene) => {
    await item("GET", "/children")(scene);
    const { red, scoped, admin, inside, root } = scene;
    expect((await scoped.repo("GET", `/items/${root}/children?limit=100`)).children.length).toBeGreaterThan(
      2,
    );
    // The epic carries the tag for a moment: of its parts one does.
    await admin.repo("PATCH", `/items/${root}`, { body: { tags: { add: ["team:red"] } } });
    expect(numbersOf((await red.repo("GET", `/items/${root}/children`)).children)).toEqual([inside]);
    await admin.repo("PATCH", `/items/${root}`, { body: { tags: { remove: ["team:red"] } } });
  },
  [`GET ${ITEM}/breadcrumbs`]: async (scene) => {
    await item("GET", "/breadcrumbs")(scene);
    const { scoped, red, admin, inside, root, top } = scene;
    const above = async (api: typeof admin, number: number) =>
      numbersOf((await api.repo("GET", `/items/${number}/breadcrumbs`)).breadcrumbs);
    expect(await above(admin, inside)).toEqual([top, root]);
    expect(await above(scoped, inside)).toEqual([root]);
    expect(await above(scoped, root)).toEqual([]);
    expect(await above(red, inside)).toEqual([]);
  },
  [`GET ${ITEM}/dependencies`]: async (scene) => {
    await item("GET", "/dependencies")(scene);
    const { scoped, admin, inside, blocked, outside } = scene;
    const ends = async (api: typeof admin, number: number) =>
      numbersOf((await api.repo("GET", `/items/${number}/dependencies`)).dependencies);
    expect(await ends(admin, blocked)).toEqual([inside, outside]);
    expect(await ends(scoped, blocked)).toEqual([inside]);
    expect(await ends(admin, inside)).toEqual([blocked, outside]);
    expect(await ends(scoped, inside)).toEqual([blocked]);
  },
  [`GET ${ITEM}/backlinks`]: async (scene) => {
    await item("GET", "/backlinks")(scene);
    const { scoped, admin, inside } = scene;
    const ends = async (api: typeof admin) =>
      (await api.repo("GET", `/items/${inside}/backlinks?limit=100`)).backlinks.map(
        ({ key }: { key: string }) => key,
      );
    const all = await ends(admin);
    const mine = await ends(scoped);
    expect(all).toEqual(
      expect.arrayContaining([keyOf(scene.outside), "repo/acme/widgets/mem/notes/outside"]),
    );
    expect(mine).toEqual(
      all.filter((key: string) => key !== keyOf(scene.outside) && !key.endsWith("notes/outside")),
    );
    expect(mine).toContain("repo/acme/widgets/mem/notes/inside");
  },
  [`GET ${ITEM}/transitions`]: item("GET", "/transitions"),
  [`POST ${R}/validate-edges`]: async ({ scoped, inside, outside, spare }) => {
    const from = spare();
    const edges = [
      { from, relation: "blockedBy", to: inside },
      { from, relation: "blockedBy", to: outside },
      { from: outside, relation: "blockedBy", to: from },
    ];
    const answer = await scoped.repo("POST", "/validate-edges", { body: { edges } });
    expect(answer.edges.map(({ ok, code }: { ok: boolean; code?: string }) => code ?? ok)).toEqual([
      true,
      "scope_forbidden",
      "scope_forbidden",
    ]);
  },
  [`POST ${R}/items`]: async ({ scoped, red, repo, inside, root, outside }) => {
    const before = repo.record.issues.size;
    const propose = (api: typeof scoped, more: object) =>
      api.tryRepo("POST", "/items", { body: { title: "A new one", ...more } });
    expectForbidden(await propose(scoped, {}));
    expectForbidden(await propose(scoped, { parent: outside }));
    expectForbidden(await propose(scoped, { parent: root, blockedBy: [outside] }));
    expectForbidden(await propose(red, {}));
    // Nothing was opened on GitHub for those that were refused.
    expect(repo.record.issues.size).toBe(before);
    expect((await propose(scoped, { parent: root, blockedBy: [inside] })).status).toBe(201);
    expect((await propose(red, { title: "Another", tags: ["team:red"] })).status).toBe(201);
  },
  [`POST ${R}/groupings`]: async ({ scoped, red, repo, root, outside }) => {
    const before = repo.record.issues.size;
    const create = (api: typeof scoped, epic: object, blockedBy: string[] = []) =>
      api.tryRepo("POST", "/groupings", {
        body: {
          epic: { title: "Pipes", slug: "pipes", ...epic },
          items: [
            { ref: "a", title: "A", blockedBy },
            { ref: "end", title: "End", phase: "integration" },
          ],
        },
      });
    expectForbidden(await create(scoped, {}));
    expectForbidden(await create(scoped, { parent: outside }));
    expectForbidden(await create(scoped, { parent: root }, [`#${outside}`]));
    expectForbidden(await create(red, {}));
    expect(repo.record.issues.size).toBe(before);
    const { status, body } = await create(scoped, { parent: root });
    expect([status, body.code]).toEqual([201, undefined]);
    expect((await scoped.item(body.items.a)).epic).toBe(body.epic.number);
  },

  // ------------------------------------------------------------ claims

  [`POST ${R}/claim-next`]: async ({ scoped, red, admin, inside, outside }) => {
    const granted = await red.repo("POST", "/claim-next", { body: { owner: "w/red" } });
    expect(granted).toMatchObject({ granted: true, number: inside });
    // Its sight has nothing else that is free, whatever others could have.
    const none = await red.repo("POST", "/claim-next", { body: { owner: "w/red" } });
    expect(none).toMatchObject({ granted: false, reason: "none_ready", verdict: "waiting" });
    expect(none.pending).toBe((await red.ready()).pending);
    expect(none.pending).toBeLessThan((await admin.ready()).pending);
    await red.release(inside, granted.fencingToken);
    const mine = await scoped.repo("POST", "/claim-next", {
      body: { owner: "w/s", selector: { orderBy: "newest" } },
    });
    expect(mine.granted).toBe(true);
    expect(mine.number).not.toBe(outside);
    await scoped.release(mine.number, mine.fencingToken);
  },
  [`POST ${ITEM}/claim`]: async (scene) => {
    await item("POST", "/claim", claim)(scene);
    const refused = await scene.scoped.claim(scene.blocked, "w/scoped");
    expect(refused).toMatchObject({ granted: false, reason: "blocked", blockers: [scene.inside] });
    // A subtree token never widens what is reached.
    const { root, outside, top, scoped } = scene;
    expectForbidden(
      await scoped.tryRepo("POST", `/items/${top}/claim`, { body: { owner: "w/s", scope: "subtree" } }),
    );
    const subtree = await scoped.claim(root, "w/s", { scope: "subtree" });
    const body = { tags: { add: ["x:y"] } };
    expectForbidden(
      await scoped.tryRepo("PATCH", `/items/${outside}`, {
        body,
        ...(subtree.granted && { fence: subtree.fencingToken }),
      }),
    );
    if (subtree.granted) await scoped.release(root, subtree.fencingToken);
  },
  [`POST ${ITEM}/claim/renew`]: item("POST", "/claim/renew", held),
  [`POST ${ITEM}/claim/release`]: item("POST", "/claim/release", held),
  [`GET ${ITEM}/claim`]: item("GET", "/claim"),
  [`GET ${ITEM}/claims`]: item("GET", "/claims"),
  [`POST ${RECORD}/claim`]: record("POST", "/claim", claim),
  [`POST ${RECORD}/claim/renew`]: record("POST", "/claim/renew", held),
  [`POST ${RECORD}/claim/release`]: record("POST", "/claim/release", held),
  [`GET ${RECORD}/claim`]: record("GET", "/claim"),
  [`GET ${RECORD}/claims`]: record("GET", "/claims"),

  // ------------------------------------------------------------ finishing

  [`POST ${ITEM}/complete`]: item("POST", "/complete", { body: { pullRequest: 1 } }),
  [`POST ${ITEM}/park`]: item("POST", "/park", {
    body: { reason: "r", rulingOwner: "alice", question: "q?" },
  }),
  [`POST ${ITEM}/advance`]: item("POST", "/advance", { body: { trigger: "hold" } }),
  [`POST ${R}/advance`]: async ({ scoped, outside, spare }) => {
    const mine = spare();
    const transitions = [outside, mine].map((number) => ({ number, trigger: "hold" }));
    const { results } = await scoped.repo("POST", "/advance", { body: { transitions } });
    expect(results).toMatchObject([
      { number: outside, applied: false, errorCode: "scope_forbidden", role: null },
      { number: mine, applied: true },
    ]);
  },

  // ------------------------------------------------------------ memory

  [`GET ${R}/memory`]: async ({ scoped, admin }) => {
    const count = async (api: typeof admin, topic: string) =>
      (await api.repo("GET", "/memory")).topics.find((each: { topic: string }) => each.topic === topic)
        ?.records;
    await admin.repo("PUT", "/memory/secrets/one", { body: { title: "of nobody here" } });
    expect(await count(admin, "secrets")).toBe(1);
    expect(await count(scoped, "secrets")).toBeUndefined();
    expect(await count(scoped, "backlog")).toBe((await scoped.repo("GET", "/items?limit=100")).items.length);
    expect(await count(scoped, "backlog")).toBeLessThan(await count(admin, "backlog"));
  },
  [`GET ${R}/memory/{topic}`]: async ({ scoped, admin, inside }) => {
    const ids = async (api: typeof admin) =>
      (await api.repo("GET", "/memory/notes?limit=100")).records.map(({ id }: { id: string }) => id);
    expect(await ids(admin)).toEqual(expect.arrayContaining(["inside", "outside"]));
    expect(await ids(scoped)).toContain("inside");
    expect(await ids(scoped)).not.toContain("outside");
    const { records } = await scoped.repo("GET", "/memory/notes?limit=100");
    const found = records.find(({ id }: { id: string }) => id === "inside");
    expect(found.links).toEqual({ partOf: [keyOf(inside)] });
  },
  [`POST ${R}/memory/{topic}`]: async ({ scoped, inside }) => {
    const post = (body: object) => scoped.tryRepo("POST", "/memory/findings", { body });
    expectForbidden(await post({ title: "loose" }));
    expect((await post({ title: "tied", links: { partOf: [keyOf(inside)] } })).status).toBe(201);
  },
  [`GET ${RECORD}/backlinks`]: async (scene) => {
    await record("GET", "/backlinks")(scene);
    const { scoped, admin, inside } = scene;
    for (const [id, tied] of [
      ["points", true],
      ["hides", false],
    ] as const) {
      const links = { related: ["mem/notes/inside"], ...(tied ? { partOf: [keyOf(inside)] } : {}) };
      await admin.repo("PUT", `/memory/notes/${id}`, { body: { links } });
    }
    const { backlinks } = await scoped.repo("GET", "/memory/notes/inside/backlinks");
    expect(backlinks.map(({ key }: { key: string }) => key)).toEqual(["repo/acme/widgets/mem/notes/points"]);
  },
  [`GET ${R}/memory-search`]: async ({ scoped, admin, inside }) => {
    await admin.repo("PUT", "/memory/notes/zebra", { body: { title: "zebra stripes" } });
    await admin.repo("PUT", "/memory/notes/zebra-mine", {
      body: { title: "zebra dots", links: { partOf: [keyOf(inside)] } },
    });
    const ids = async (api: typeof admin) =>
      (await api.repo("GET", "/memory-search?q=zebra")).results.map(({ id }: { id: string }) => id);
    expect((await ids(admin)).sort()).toEqual(["zebra", "zebra-mine"]);
    expect(await ids(scoped)).toEqual(["zebra-mine"]);
  },
  [`GET ${R}/neighbors`]: async ({ scoped, admin, inside, outside }) => {
    const around = async (api: typeof admin, number: number) =>
      api.tryRepo("GET", `/neighbors?key=${keyOf(number)}&depth=2`);
    expectForbidden(await around(scoped, outside));
    const keys = (await around(scoped, inside)).body.nodes.map(({ key }: { key: string }) => key);
    expect(keys).toContain("repo/acme/widgets/mem/notes/inside");
    expect(keys.filter((key: string) => key === keyOf(outside) || key.endsWith("notes/outside"))).toEqual([]);
    expect((await around(admin, inside)).body.nodes.map(({ key }: { key: string }) => key)).toContain(
      keyOf(outside),
    );
  },

  [`GET ${RECORD}`]: async (scene) => {
    await record("GET")(scene);
    const { links } = await scene.scoped.repo("GET", "/memory/notes/inside");
    expect(links).toEqual({ partOf: [keyOf(scene.inside)] });
    // What is not there is no secret.
    expect(await scene.scoped.repo("GET", "/memory/notes/nowhere")).toMatchObject({ exists: false });
  },
  [`PUT ${RECORD}`]: async (scene) => {
    await record("PUT", "", { body: { title: "again" } })(scene);
    const { scoped, red, inside, outside } = scene;
    const put = (api: typeof scoped, id: string, body: object) =>
      api.tryRepo("PUT", `/memory/notes/${id}`, { body });
    expectForbidden(await put(scoped, "loose", { title: "of nothing" }));
    expectForbidden(await put(scoped, "beyond", { links: { partOf: [keyOf(outside)] } }));
    expectForbidden(
      await put(scoped, "tied", { links: { partOf: [keyOf(inside)], related: [keyOf(outside)] } }),
    );
    expect(await scene.admin.repo("GET", "/memory/notes/loose")).toMatchObject({ exists: false });
    expect((await put(scoped, "found", { links: { partOf: [keyOf(inside)] } })).status).toBe(201);
    expectForbidden(await put(red, "grey", { title: "no tag" }));
    expect((await put(red, "red", { tags: ["team:red"] })).status).toBe(201);
  },
  [`PATCH ${RECORD}`]: async (scene) => {
    await record("PATCH", "", { body: { title: "new" } })(scene);
    const body = { links: { remove: { partOf: [keyOf(scene.inside)] } } };
    expectForbidden(await scene.scoped.tryRepo("PATCH", "/memory/notes/inside", { body }));
  },
  [`DELETE ${RECORD}`]: record("DELETE"),
};
