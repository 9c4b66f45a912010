/** What the pool asks of a host process. */
export type HostRequest = ({ kind: 'run' } & Job) | { kind: 'cancel'; id: number };

export interface Job {
  id: number;
  tenantID: string;
  /** The body of an async function whose parameters are `names`. */
  code: string;
  names: string[];
  /** The arguments in the order of `names`: a JSON array. */
  args: string;
  timeoutMs: number;
  memoryMB: number;
  maxOutputBytes: number;
}

/**
 * What a host process answers. `unsound`: the host must be killed, because a thread in it no longer obeys or its memory
 * ran away; `id` names the call that did it, `null` when it may have been any.
 */
export type HostReply =
  | { kind: 'ready' }
  | { kind: 'done'; id: number; outcome: Outcome }
  | { kind: 'unsound'; id: number | null; outcome: Outcome };

/** How a call ended. Only text leaves an isolate: nothing of it becomes an object outside. */
export type Outcome =
  | { kind: 'value'; json: string }
  | { kind: 'thrown'; name: string; message: string; line: number | null }
  | { kind: 'invalid'; message: string }
  | { kind: 'large' }
  | { kind: 'memory' }
  | { kind: 'timeout' }
  /** The code awaits a promise that nothing is left to settle. */
  | { kind: 'pending' }
  /** The host failed, not the code. */
  | { kind: 'lost'; message: string };
