/** A request of the pool to a host process. */
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
  /** Name of the setting with the time limit, for the error of a call that takes longer. */
  timeoutSetBy?: string | undefined;
  memoryMB: number;
  maxOutputBytes: number;
}

/**
 * A reply of a host process. `unsound`: the host must be killed, because a thread in it cannot be stopped or it uses too much
 * memory; `id` names the responsible call, `null` if that may be any.
 */
export type HostReply =
  | { kind: 'ready' }
  | { kind: 'done'; id: number; outcome: CallOutcome; printed?: PrintedText | undefined }
  | { kind: 'unsound'; id: number | null; outcome: CallOutcome };

/** Outcome of a call. Only text leaves an isolate, never an object. */
export type CallOutcome =
  | { kind: 'value'; json: string }
  | { kind: 'thrown'; name: string; message: string; line: number | null; column: number | null }
  | { kind: 'invalid'; message: string }
  | { kind: 'large' }
  | { kind: 'memory' }
  | { kind: 'timeout' }
  /** The code awaits a promise that can no longer be settled. */
  | { kind: 'pending' }
  /** The host failed, not the code. */
  | { kind: 'lost'; message: string };

/** The lines that code has printed, as a JSON array. */
export interface PrintedText {
  lines: string;
  cut: { lines: number; bytes: number };
}

/** Limits of what a call may print; a longer line ends with a mark. Counted in characters. */
export const MAX_PRINTED = { lines: 1_000, bytes: 128 * 1024, length: 8_000 };
