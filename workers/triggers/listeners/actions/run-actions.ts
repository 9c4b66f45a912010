import { AppError, toAppError, WireError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { isRefusedStatement } from '#shared/db/pool.ts';
import type { PagePush } from '#shared/messaging/realtime/listener-events.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import type { ActionType } from '#shared/triggers/listeners/actions.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import type { ActionContext, ActionOutcome, BufferedEvent, RunAction } from './action.ts';
import { isCreatorRefused } from './creator-rights.ts';

export type Runners = Record<ActionType, RunAction>;

/** Record of an action of an event. `waiting`: it has failed, and is tried again. */
export interface ActionRecord {
  type: string;
  state: 'done' | 'filtered' | 'waiting' | 'failed';
  attempts: number;
  at: string;
  error?: { code: string; message: string };
  /** The run that it has started. */
  instanceID?: string;
  result?: Json;
}

export type ActionRecords = Record<string, ActionRecord>;

export interface Performed {
  runs: NewRun[];
  saved: BufferedEvent[];
  pagePushes: PagePush[];
  isFiltered: boolean;
  /** Records by the id of the action, those of earlier attempts included. */
  records: ActionRecords;
  failures: AppError[];
  /** Result of the first transform of this attempt. */
  transformed?: Transformed;
}

export interface Transformed {
  /** Null if the event was filtered out, or the transform has failed. */
  event: JsonObject | null;
  error: string | null;
}

interface Performing {
  runners: Runners;
  /** Records of earlier attempts. */
  before: ActionRecords;
  /** Writes the record of an action at once, when its effect is not part of the transaction that ends the attempt. */
  note(actionID: string, record: ActionRecord): Promise<void>;
}

/** Actions that only change the event for those that follow. They are repeated in each attempt, and a failure ends the attempt. */
const CHANGES_ONLY: ReadonlySet<string> = new Set(['transform', 'filter']);
/** Actions whose effect is not part of the transaction that ends the attempt. */
const OUTSIDE: ReadonlySet<string> = new Set(['trigger_query', 'send_event']);
const MAX_MESSAGE = 2_000;

/**
 * Performs the actions of a listener on an event, in their order. An action that has succeeded, or failed for good, in an earlier attempt
 * is not repeated. After the failure of an action with an effect, the following ones are still performed.
 */
export async function runActions(
  { actions }: Pick<ReadListener, 'actions'>,
  context: Omit<ActionContext, 'actionID'>,
  performing: Performing,
): Promise<Performed> {
  const performed: Performed = {
    runs: [],
    saved: [],
    pagePushes: [],
    isFiltered: false,
    records: { ...performing.before },
    failures: [],
  };
  let event: JsonObject | undefined = context.event;
  for (const action of actions) {
    event = await perform(action, { ...context, event, actionID: action.id }, { ...performing, performed });
    if (!event) break;
  }
  return performed;
}

/** Performs one action. Answers with the event for those that follow, or undefined if there are none. */
async function perform(
  action: ReadListener['actions'][number],
  context: ActionContext,
  { runners, before, note, performed }: Performing & { performed: Performed },
): Promise<JsonObject | undefined> {
  const { id, actionType } = action;
  const earlier = before[id];
  if (earlier && isEnded(earlier)) {
    performed.failures.push(...failuresOf(earlier));
    return context.event;
  }
  const attempted = await attempt(action, context, { runners, earlier });
  performed.records[id] = attempted.record;
  if (actionType === 'transform') performed.transformed ??= transformedBy(attempted);
  if ('error' in attempted) {
    performed.failures.push(attempted.error);
    return CHANGES_ONLY.has(actionType) ? undefined : context.event;
  }
  const { outcome, record } = attempted;
  if (OUTSIDE.has(actionType)) await note(id, record);
  add(performed, outcome);
  return outcome.isFiltered ? undefined : (outcome.event ?? context.event);
}

function transformedBy(attempted: Attempted): Transformed {
  if ('error' in attempted) return { event: null, error: attempted.error.message };
  return { event: attempted.outcome.event ?? null, error: null };
}

type Attempted = { record: ActionRecord; outcome: ActionOutcome } | { record: ActionRecord; error: AppError };

async function attempt(
  { actionType: type, actionConfig }: ReadListener['actions'][number],
  context: ActionContext,
  { runners, earlier }: { runners: Runners; earlier: ActionRecord | undefined },
): Promise<Attempted> {
  const about = { type, attempts: (earlier?.attempts ?? 0) + 1, at: new Date().toISOString() };
  try {
    const outcome = await runnerOf(type, runners)(actionConfig, context);
    return { record: { ...about, state: outcome.isFiltered ? 'filtered' : 'done', ...detailsOf(outcome) }, outcome };
  } catch (thrown) {
    const error = errorOfAction(thrown);
    const { code, message } = error;
    const state = error.retry ? 'waiting' : 'failed';
    return { record: { ...about, state, error: { code, message: message.slice(0, MAX_MESSAGE) } }, error };
  }
}

/** Whether an earlier attempt has finished the action, so that it is not repeated. */
function isEnded({ type, state }: ActionRecord): boolean {
  return !CHANGES_ONLY.has(type) && (state === 'done' || state === 'failed');
}

/** Whether actions wait for code or for servers. The number of such events that are processed at once is limited. */
export function isSlow({ actions }: Pick<ReadListener, 'actions'>): boolean {
  return actions.some(({ actionType }) => CHANGES_ONLY.has(actionType) || OUTSIDE.has(actionType));
}

/** Converts an error of an action. Rethrows one that is no failure of the event: the database is away, or the listener has to stop. */
export function errorOfAction(thrown: unknown): AppError {
  const error = toAppError(thrown);
  if (error.code === 'UNAVAILABLE' || isCreatorRefused(thrown)) throw thrown;
  if (thrown instanceof AppError || isRefusedStatement(thrown)) return error;
  // An error of our own code may be temporary too. After the last attempt the event is a dead letter with the stack.
  return new AppError(error.code, error.message, { cause: thrown, retry: true });
}

function runnerOf(type: string, runners: Runners): RunAction {
  // Safe: the name is one of the table's own keys.
  if (Object.hasOwn(runners, type)) return runners[type as ActionType];
  throw new AppError('VALIDATION_ERROR', `This worker has no action of type ${type}`);
}

/** The error of an earlier attempt. */
function failuresOf({ error }: ActionRecord): AppError[] {
  if (!error) return [];
  const code = WireError.shape.code.safeParse(error.code).data ?? 'INTERNAL_ERROR';
  return [new AppError(code, error.message, { retry: false })];
}

function detailsOf({ run, result }: ActionOutcome): Pick<ActionRecord, 'instanceID' | 'result'> {
  return { ...(run?.id && { instanceID: run.id }), ...(result !== undefined && { result }) };
}

function add(performed: Performed, outcome: ActionOutcome): void {
  const { runs, saved, pagePushes } = performed;
  performed.isFiltered = outcome.isFiltered === true;
  if (outcome.run) runs.push(outcome.run);
  if (outcome.saved) saved.push(outcome.saved);
  if (outcome.pagePush) pagePushes.push(outcome.pagePush);
}

/** The records as they are stored in the row of the event. */
export function storedRecords(records: ActionRecords): JsonObject {
  // Safe: records hold JSON only; serializing them is what the next statement does.
  return records as unknown as JsonObject;
}
