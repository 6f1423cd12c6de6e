import { describe, expect, test } from "vitest";
import { elsewhereFor } from "../../src/postgres/home.ts";
import { judgeProcess } from "../../src/postgres/leftovers.ts";
import { parseProcStat } from "../../src/postgres/process-facts.ts";
import { diagnose } from "../../src/postgres/server-log.ts";
import { serverArguments } from "../../src/postgres/settings.ts";

describe("a process found after a crash", () => {
  const cluster = "/data/cluster";
  const program = "/opt/my app/bin/postgres";
  const server = `${program} ${serverArguments(cluster, 5432, {}).join(" ")}`;
  const judge = (command: string, cwd: string | null, program = command) =>
    judgeProcess({ birth: "", program, command, cwd }, cluster);

  test("is ours by the name that we gave the cluster", () => {
    expect(judge(server, cluster, program)).toBe("ours");
    expect(judge("postgres: leasehold: checkpointer", cluster)).toBe("ours");
    expect(judge("postgres: leasehold: leasehold leasehold 127.0.0.1(52) idle", cluster)).toBe("ours");
    // Where the system does not tell working folders.
    expect(judge(server, null, program)).toBe("ours");
  });

  test("is somebody else's when it was started by hand on our data", () => {
    const byHand = "/usr/lib/postgresql/18/bin/postgres";
    expect(judge(`${byHand} -D ${cluster} -p 5433`, cluster, byHand)).toBe("not_ours");
    expect(judge("postgres: checkpointer", cluster)).toBe("not_ours");
  });

  test("does not matter when it works elsewhere or is no PostgreSQL", () => {
    expect(judge(server.replace(cluster, "/other/cluster"), "/other/cluster", program)).toBeNull();
    expect(judge("postgres: leasehold: checkpointer", "/other/cluster")).toBeNull();
    expect(judge("bash postgres", cluster, "bash")).toBeNull();
    expect(judge(`vi /notes/postgres -D ${cluster} x`, null, "vi")).toBeNull();
  });
});

describe("the arguments of the server", () => {
  test("let the caller tune, but not move it out of reach", () => {
    const args = serverArguments("/data/cluster", 5432, {
      max_connections: "10",
      port: "1",
      listen_addresses: "*",
    });
    expect(args).toContain("max_connections=10");
    expect(args).toContain("port=5432");
    expect(args).toContain("listen_addresses=127.0.0.1");
    expect(args.filter((arg) => arg.startsWith("port="))).toHaveLength(1);
  });
});

describe("a place elsewhere", () => {
  test("is as lasting as the folder it stands for", () => {
    expect(elsewhereFor("/root/app/.data/postgres", "/tmp")[0]).toMatch(
      /^\/var\/lib\/leasehold-[0-9a-f]{16}$/,
    );
    expect(elsewhereFor("/tmp/test-1/postgres", "/tmp")[0]).toMatch(/^\/tmp\/leasehold-[0-9a-f]{16}$/);
  });

  test("differs for every folder and is always the same for one", () => {
    expect(elsewhereFor("/root/a", "/tmp")).toEqual(elsewhereFor("/root/a", "/tmp"));
    expect(elsewhereFor("/root/a", "/tmp")).not.toEqual(elsewhereFor("/root/b", "/tmp"));
  });
});

test("a process may have any name and its start is still found", () => {
  const fields = ["S", ...Array.from({ length: 18 }, (_, i) => String(i)), "777", "888"];
  expect(parseProcStat(`42 (a) S (b c) ${fields.join(" ")}`)).toEqual({ state: "S", startTicks: "777" });
});

test("PostgreSQL's complaints are understood", () => {
  expect(diagnose('LOG:  could not bind IPv4 address "127.0.0.1": Address already in use')).toBe(
    "port_taken",
  );
  expect(diagnose('FATAL:  lock file "postmaster.pid" already exists')).toBe("cluster_busy");
  expect(diagnose("FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use")).toBe(
    "cluster_busy",
  );
  expect(diagnose("FATAL:  something else")).toBe("unknown");
});
