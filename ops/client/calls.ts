import type { operations as table } from './operations.ts';
import type { operations as Operations } from './rest.ts';

export type OperationName = keyof Operations & keyof typeof table;

/** Operations that list rows, which `pages` reads one after another. */
export type ListName = {
  [N in OperationName]: (typeof table)[N] extends { items: string } ? N : never;
}[OperationName];

export interface CallOptions {
  signal?: AbortSignal;
  /** For operations that take one; made up if it is left out, so that the call can be repeated when its answer is lost. */
  idempotencyKey?: string;
}

/** `path`, `query`, `header` and `body` of an operation. A form with a file is a `FormData`. */
export type Input<N extends OperationName> = Omit<Operations[N]['parameters'], 'cookie'> & Body<N> & CallOptions;

/** The result of an operation: its JSON, a `Blob`, the stream of its events, or the address that it redirects to. */
export type Answer<N extends OperationName> = AnswerOf<Operations[N]['responses']>;

/** A row of a list. */
export type Item<N extends ListName> =
  Answer<N> extends Record<(typeof table)[N]['items'], readonly (infer I)[]> ? I : never;

/** An operation without anything that it requires is called without an input. */
export type InputArguments<N extends OperationName> = object extends Input<N> ? [input?: Input<N>] : [input: Input<N>];

/** Calls an operation of the OpenAPI document by its name. Throws a `GantryError` unless it succeeds. */
export type Call = <N extends OperationName>(name: N, ...input: InputArguments<N>) => Promise<Answer<N>>;

type Body<N extends OperationName> = Operations[N] extends { requestBody: { content: infer C } }
  ? { body: BodyOf<C> }
  : Operations[N] extends { requestBody?: { content: infer C } }
    ? { body?: BodyOf<C> }
    : { body?: never };
type BodyOf<C> = C extends { 'application/json': infer J } ? J : FormData;

type AnswerOf<R> = ContentOf<R[keyof R & (200 | 201 | 202)]>;
type ContentOf<S> = [S] extends [never]
  ? string
  : S extends { content: infer C }
    ? C extends { 'application/json': infer J }
      ? J
      : C extends { 'text/event-stream': unknown }
        ? ReadableStream<Uint8Array>
        : Blob
    : undefined;
