/** A worker's view of the API, over HTTP. */

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
  readonly headers: Headers;
}

export interface Sent {
  readonly token?: string | null;
  readonly fence?: number | string;
  readonly body?: unknown;
  /** Sent as it stands, in place of `body`. */
  readonly raw?: string;
  readonly headers?: Record<string, string>;
}

export class ApiClient {
  readonly #address: string;
  readonly #token: string;
  readonly #repo: string;

  constructor(address: string, token: string, repo: string) {
    this.#address = address;
    this.#token = token;
    this.#repo = repo;
  }

  /** The header that it sends. */
  get authorization(): string {
    return `Bearer ${this.#token}`;
  }

  /** The same caller on another repository, or under another token. */
  with(change: { repo?: string; token?: string }): ApiClient {
    return new ApiClient(this.#address, change.token ?? this.#token, change.repo ?? this.#repo);
  }

  async send(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const body = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body));
    const token = sent.token === undefined ? this.#token : sent.token;
    const response = await fetch(this.#address + path, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(sent.fence === undefined ? {} : { "fencing-token": String(sent.fence) }),
        ...sent.headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    const isJson = (response.headers.get("content-type") ?? "").includes("json");
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  }

  /** Sends to the repository and expects a success; answers the body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  async repo(method: string, path: string, sent: Sent = {}): Promise<any> {
    const answer = await this.send(method, `/api/v1/repos/${this.#repo}${path}`, sent);
    if (answer.status >= 300) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    }
    return answer.body;
  }

  /** Sends to the repository and answers whatever comes. */
  tryRepo(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    return this.send(method, `/api/v1/repos/${this.#repo}${path}`, sent);
  }

  claim(number: number, owner: string, more: object = {}) {
    return this.repo("POST", `/items/${number}/claim`, { body: { owner, ...more } });
  }

  renew(number: number, fencingToken: number, more: object = {}) {
    return this.repo("POST", `/items/${number}/claim/renew`, { body: { fencingToken, ...more } });
  }

  release(number: number, fencingToken: number, more: object = {}) {
    return this.repo("POST", `/items/${number}/claim/release`, { body: { fencingToken, ...more } });
  }

  status(number: number) {
    return this.repo("GET", `/items/${number}/claim`);
  }

  item(number: number) {
    return this.repo("GET", `/items/${number}`);
  }

  ready(query = "") {
    return this.repo("GET", `/ready${query}`);
  }

  /** Makes one item wait for others. */
  block(number: number, ...on: number[]) {
    const keys = on.map((blocker) => `mem/backlog/issue-${blocker}`);
    return this.repo("PATCH", `/memory/backlog/issue-${number}`, {
      body: { links: { add: { blockedBy: keys } } },
    });
  }
}
