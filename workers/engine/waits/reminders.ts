import type { JsonObject } from '#shared/core/json.ts';
import type { ReminderMessage } from '#shared/messaging/realtime/reminders.ts';
import { innermost, pathKey } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { Run } from '../state/run.ts';

/** A question that waits for its answer. */
export interface OpenQuestion {
  /** The config that the request stores. */
  config: JsonObject;
  /** Milliseconds since the question was asked. */
  askedMs: number;
  /** Milliseconds until the question expires; null if it does not. */
  expiresInMs: number | null;
  /** How many reminders have been recorded. */
  reminded: number;
}

const MINUTE_MS = 60_000;

/** When a question needs attention next (the next reminder, or its expiry), and how many of its reminders are due by now. */
export function nextMoment({ config, askedMs, expiresInMs }: Omit<OpenQuestion, 'reminded'>): {
  inMs: number | null;
  due: number;
} {
  const times = timesOf(config);
  const due = times.filter((ms) => ms <= askedMs).length;
  const next = times[due];
  const moments = [next === undefined ? [] : next - askedMs, expiresInMs ?? []].flat();
  return { inMs: moments.length > 0 ? Math.min(...moments) : null, due };
}

/**
 * Records the reminders of a question that are due. The same fenced commit sets the time of the next reminder, so each is in the timeline
 * once, whichever worker owns the run.
 */
export function remind(run: Run, activation: Activation, question: OpenQuestion, onDue: () => void): void {
  const wait = run.waitOf(activation);
  if (!wait || wait.ref === undefined) return;
  const { inMs, due } = nextMoment(question);
  // An earlier read of the waits may have recorded some that the commit has not written yet.
  const reminded = Math.max(question.reminded, wait.reminded);
  if (due <= reminded) return;
  const reminders = Array.from({ length: due - reminded }, (_, at) =>
    reminderOf(run, activation, { ref: String(wait.ref), config: question.config, number: reminded + at + 1 }),
  );
  run.remind(
    activation,
    reminders,
    { kind: 'input', purpose: 'park', ms: inMs, expiresInMs: question.expiresInMs, ref: wait.ref, reminded: due },
    onDue,
  );
}

function reminderOf(
  { id, tenantID, workflowID }: Run,
  { node, path }: Activation,
  { ref, config, number }: { ref: string; config: JsonObject; number: number },
): ReminderMessage {
  const { title, approvers, notBy, answerByLink } = config;
  return {
    tenantID,
    workflowID,
    ...(Array.isArray(approvers) && { approvers: approvers.map(String) }),
    ...(typeof notBy === 'string' && { notBy }),
    instanceID: id,
    nodeID: node.id,
    iteration: innermost(path),
    frame: path,
    collectionRequestID: ref,
    ...(answerByLink === true && { linkPath: pathKey(path) }),
    title: typeof title === 'string' ? title : null,
    number,
    of: timesOf(config).length,
  };
}

function timesOf({ reminders }: JsonObject): number[] {
  return Array.isArray(reminders) ? reminders.map((minutes) => Number(minutes) * MINUTE_MS) : [];
}
