/** An example of a body, as the OpenAPI document shows it. A test holds each against its schema. */

export interface Example<T = unknown> {
  /** Names it among the examples of its body. */
  readonly title: string;
  readonly value: T;
}
