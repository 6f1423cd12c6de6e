/** The refusals that the OpenAPI document promises, and the calls that it describes. */

export interface Refusal {
  readonly status: number;
  readonly code: string;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly hasBody: boolean;
  readonly refusals: readonly Refusal[];
}

interface Described {
  readonly operationId: string;
  readonly requestBody?: object;
  readonly responses: Record<
    string,
    { content?: Record<string, { examples?: Record<string, { value: { code: string } }> }> }
  >;
}

export function operationsOf(document: { paths: Record<string, Record<string, Described>> }): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      path,
      hasBody: described.requestBody !== undefined,
      refusals: refusalsOf(described),
    })),
  );
}

const refusalsOf = ({ responses }: Described): Refusal[] =>
  Object.entries(responses).flatMap(([status, { content }]) =>
    Object.values(content?.["application/problem+json"]?.examples ?? {}).map(({ value }) => ({
      status: Number(status),
      code: value.code,
    })),
  );
