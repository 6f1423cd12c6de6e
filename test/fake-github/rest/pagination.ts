import { malformed } from "../http-error.ts";
import type { Json } from "../json.ts";
import type { ApiRequest, Reply } from "./api-request.ts";

const DEFAULT_PER_PAGE = 30;
const MAX_PER_PAGE = 100;

/** One page of the rows as a bare array. Only the rows shown are rendered. */
export function page<T>(request: ApiRequest, rows: readonly T[], render: (row: T) => Json): Reply {
  const { shown, headers } = slice(request, rows);
  return { status: 200, body: shown.map(render), headers };
}

/** One page of the rows in an object beside their number, as newer endpoints answer. */
export function countedPage<T>(
  request: ApiRequest,
  field: string,
  rows: readonly T[],
  render: (row: T) => Json,
  more: Record<string, Json> = {},
): Reply {
  const { shown, headers } = slice(request, rows);
  return {
    status: 200,
    body: { total_count: rows.length, ...more, [field]: shown.map(render) },
    headers,
  };
}

export function perPage(request: ApiRequest): number {
  return Math.min(positive(request, "per_page", DEFAULT_PER_PAGE), MAX_PER_PAGE);
}

export function linkTo(request: ApiRequest, changes: Record<string, string>, rel: string): string {
  const query = new URLSearchParams(request.query);
  for (const [name, value] of Object.entries(changes)) query.set(name, value);
  return `<${request.world.apiUrl}${request.path}?${query}>; rel="${rel}"`;
}

function slice<T>(
  request: ApiRequest,
  rows: readonly T[],
): { shown: readonly T[]; headers: Record<string, string> } {
  const size = perPage(request);
  const current = positive(request, "page", 1);
  const last = Math.max(1, Math.ceil(rows.length / size));
  const links: string[] = [];
  const link = (number: number, rel: string) => links.push(linkTo(request, { page: String(number) }, rel));
  if (current > 1) link(Math.min(current - 1, last), "prev");
  if (current < last) link(current + 1, "next");
  if (current < last) link(last, "last");
  if (current > 1) link(1, "first");
  return {
    shown: rows.slice((current - 1) * size, current * size),
    headers: links.length > 0 ? { link: links.join(", ") } : {},
  };
}

function positive(request: ApiRequest, name: string, otherwise: number): number {
  const text = request.query.get(name);
  if (text === null) return otherwise;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw malformed(422, `Invalid request: ${name}=${text}`);
  return number;
}
