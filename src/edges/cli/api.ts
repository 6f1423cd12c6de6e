/** The running server as the commands see it: the HTTP contract, with the operator's token. */

/** The server refused, or cannot be reached: said to the operator as it is, without a stack. */
export class CliError extends Error {
  override readonly name = "CliError";
}

export interface ServerAt {
  /** E.g. `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly token: string;
}

export class Api {
  private readonly at: ServerAt;

  constructor(at: ServerAt) {
    this.at = at;
  }

  /** The answer's body. `path` begins with a slash. Throws `CliError` with the server's own words. */
  async call(
    method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
  ): Promise<unknown> {
    const answer = await this.ask(method, path, body);
    const text = await answer.text();
    if (answer.ok) return text === "" ? null : JSON.parse(text);
    throw new CliError(refusalOf(answer.status, text));
  }

  private async ask(method: string, path: string, body: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${this.at.token}`, "content-type": "application/json" };
    try {
      return await fetch(
        this.at.url + path,
        body === undefined
          ? { method, headers: { authorization: headers.authorization } }
          : { method, headers, body: JSON.stringify(body) },
      );
    } catch (error) {
      const cause = (error as Error).cause as Error | undefined;
      throw new CliError(
        `no server answers at ${this.at.url} (${cause?.message || (error as Error).message}): ` +
          "start it with npm start, or set LEASEHOLD_URL",
      );
    }
  }
}

/** The `detail` of a problem and its fields; the status alone where something else answered. */
function refusalOf(status: number, text: string): string {
  try {
    const { detail, code, errors } = JSON.parse(text) as {
      detail?: string;
      code?: string;
      errors?: { field: string; message: string }[];
    };
    const fields = (errors ?? []).map(({ field, message }) => `\n  ${field}: ${message}`).join("");
    if (detail) return `${code ?? status}: ${detail}${fields}`;
  } catch {
    // Not ours: a proxy's page, say.
  }
  return `the server answered ${status}`;
}
