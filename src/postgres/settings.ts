/** In every process title of our servers ("postgres: leasehold: ..."), by which a later start knows them for ours. */
export const CLUSTER_NAME = "leasehold";

/** Sized for a machine with one or two cores that has other work too. Durability is left at PostgreSQL's defaults. */
const DEFAULTS = {
  max_connections: "200",
  shared_buffers: "128MB",
  max_wal_size: "512MB",
  max_worker_processes: "4",
  max_parallel_workers: "2",
  io_workers: "1",
  timezone: "UTC",
  log_timezone: "UTC",
  log_checkpoints: "off",
};

/** The arguments of `postgres`. The caller's settings replace ours, save those that the URL and safety rest on. */
export function serverArguments(cluster: string, port: number, settings: Record<string, string>): string[] {
  const all = {
    ...DEFAULTS,
    ...settings,
    cluster_name: CLUSTER_NAME,
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    // The log is the file that we hand over as standard error.
    log_destination: "stderr",
    logging_collector: "off",
  };
  return ["-D", cluster, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}
