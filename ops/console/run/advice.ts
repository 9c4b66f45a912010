import { type AnyError, faultsOfError } from './error-fields.ts';
import { type ErrorCode, wordOfCode } from './error-words.ts';

/** An error in words, and the action that it asks of a person. */
export interface Advice {
  word: string;
  advice: string;
  /** The page of the settings that has the limit. */
  settings?: 'limits' | 'ai';
}

const AGAIN = 're-run from this step';
const passing = `It may be temporary: ${AGAIN}. If it happens often, raise “Retries” in the settings of the step.`;

/** The codes of `shared/core/errors.ts`, and those with which limits end runs. */
const byCode: Readonly<Record<ErrorCode, Omit<Advice, 'word'>>> = {
  VALIDATION_ERROR: {
    advice: `Correct it in the editor and publish, then ${AGAIN} with the published version. If the value is from the input, re-run with another input.`,
  },
  DB_ERROR: {
    advice: `Compare the statement with the values under “Input”. Correct the query or the step, then ${AGAIN}.`,
  },
  INVALID_REQUEST: {
    advice: `Correct the step in the editor and publish, then ${AGAIN} with the published version.`,
  },
  PERMISSION_DENIED: {
    advice: `A run may do what its starter may do. Ask an administrator for the permission, or let someone start it who has it, then ${AGAIN}.`,
  },
  NOT_FOUND: {
    advice: `It was deleted, or the starter of the run may not see it. Choose another in the editor and publish, then ${AGAIN} with the published version.`,
  },
  SCHEMA_NOT_FOUND: {
    advice: `Create the schema, or name another in the query, then ${AGAIN}.`,
  },
  CONFLICT: {
    advice: `Often a row with the same key is there already. Look at the values under “Input”, then ${AGAIN}.`,
  },
  PAYLOAD_TOO_LARGE: {
    advice: 'Pass less to the step: fewer rows, fewer columns, or the address of a file instead of its content.',
  },
  RATE_LIMITED: { advice: passing },
  QUOTA_EXCEEDED: {
    advice: `Free what the message names, or ask an operator for more, then ${AGAIN}.`,
    settings: 'limits',
  },
  UNAVAILABLE: { advice: passing },
  NODE_FAILED: {
    advice: `“Input” shows what it was given, “Log” what it printed. Correct the step in the editor and publish, then ${AGAIN} with the published version.`,
  },
  NODE_TIMEOUT: {
    advice: `Let it do less at once, or raise the time limit that the message names, in the settings of the step. Then ${AGAIN}.`,
  },
  RUN_TIMEOUT: {
    advice:
      'Raise the time limit that the message names, in the settings of the workflow, and re-run where it was interrupted.',
  },
  OUTPUT_TOO_LARGE: {
    advice: `Let the step give less: fewer rows or columns, or pages of them in a loop. An operator can raise the limit that the message names. Then ${AGAIN}.`,
  },
  INVALID_OUTPUT: {
    advice: `Remove what the message names from the value that the step gives, then ${AGAIN}.`,
  },
  WORKER_LOST: {
    advice: `The process that executed the run ended more than once, often for lack of memory. Let the step work on less at once, then ${AGAIN}.`,
  },
  UPSTREAM_FAILED: {
    advice: `What it answered is told here. Check address and credentials of the datasource or the step, then ${AGAIN}. If it happens now and then, raise “Retries” in the settings of the step.`,
  },
  UPSTREAM_TIMEOUT: {
    advice: `${passing} A slow query or request may need a higher time limit.`,
  },
  INTERNAL_ERROR: {
    advice: `The workflow cannot mend it: tell an operator the id of this run. Then ${AGAIN}.`,
  },
  CONCURRENCY_LIMIT: {
    advice: 'The workflow lets only so many runs with this key begin at once. Re-run it when they have ended.',
  },
  SUPERSEDED: {
    advice: 'The workflow ends the oldest run with this key when another one comes. Nothing needs to be done.',
  },
};

const unknown: Advice = {
  word: 'It failed',
  advice: `Look at the message and at “Input”, then ${AGAIN}.`,
};

const all = new Map<string, Advice>(
  Object.entries(byCode).map(([code, one]) => [code, { word: wordOfCode(code), ...one }]),
);

export function adviceOf(code: string, message = ''): Advice {
  const exit = openExitIn(message);
  if (code === 'NODE_FAILED' && exit !== undefined)
    return {
      word: `Nothing follows the exit “${exit}”`,
      advice: `Connect “${exit}” to a step in the editor and publish, then ${AGAIN} with the published version.`,
    };
  return all.get(code) ?? unknown;
}

const exitWords: Readonly<Record<string, string>> = { expired: 'not in time' };

/** The exit that an error says to lead nowhere, as the editor calls it. */
function openExitIn(message: string): string | undefined {
  const id = /^The node left by the exit "(.*)", and nothing is connected to that$/.exec(message)?.[1];
  return id === undefined ? undefined : (exitWords[id] ?? id);
}

/** The paths of the fields that an error is about, as the server names them. */
export function fieldsOf(error: Pick<AnyError, 'details'>): string[] {
  return [...faultsOfError(error).keys()].slice(0, MAX_FIELDS);
}

const MAX_FIELDS = 5;
