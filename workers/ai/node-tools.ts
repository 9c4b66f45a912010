import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOOLS_CHANNEL } from '#shared/ai/chat.ts';
import { digestOf, TOOL_CALL, type ToolCall } from '#shared/ai/tool-calls.ts';
import type { Messages } from '#shared/backplane/index.ts';
import type { Caller } from '#shared/caller.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Logger } from '#shared/logger.ts';

/** A call of a tool that a node asks for. */
export interface NodeCall {
  tenantID: string;
  caller: Caller;
  /** The same for every attempt of the node. */
  key: string;
  /** Of the calls of the node. */
  number: number;
  tool: string;
  input: unknown;
  /** The node names the tool, so one that changes something is called too. */
  isGranted: boolean;
}

export interface ToolCalls {
  /**
   * Has an API process call a tool, and waits for the end. The same call of a later attempt of the node gets the end of the first one: a
   * tool is called once.
   */
  call(wanted: NodeCall, signal: AbortSignal): Promise<ToolCall>;
}

const PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;

export function createToolCalls({
  pool,
  messages,
  logger,
}: {
  pool: Pool;
  messages: Messages;
  logger: Logger;
}): ToolCalls {
  return {
    async call(wanted, signal) {
      const { tenantID, caller, key, number, tool, input, isGranted } = wanted;
      const digest = digestOf(input);
      const id = idOf(`${key} ${number} ${tool} ${digest}`);
      const values = [id, tenantID, idOf(key), number, tool, JSON.stringify(input), digest, JSON.stringify(caller)];
      await pool.query(ADD, [...values, isGranted]);
      messages
        .publish(TOOLS_CHANNEL, {})
        .catch((error) => logger.debug({ err: error }, 'processes not woken; they look by themselves'));
      try {
        for (let pause = PAUSE_MS; ; pause = Math.min(pause * 1.5, MAX_PAUSE_MS)) {
          const { rows } = await pool.query<ToolCall>(READ, [id]);
          const [call] = rows;
          if (call && call.status !== 'ready') return call;
          await sleep(pause, undefined, { signal });
        }
      } catch (error) {
        // The next attempt of the node may ask for it again.
        if (signal.aborted) await pool.query(DROP, [id]);
        throw error;
      }
    },
  };
}

/** A UUID that is the same for the same text. */
function idOf(text: string): string {
  const hex = hash('sha256', text, 'hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

const ADD = `
insert into ai_tool_call (id, tenant_id, turn_id, number, tool, input, input_digest, caller, is_granted)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do nothing`;

const READ = `select ${TOOL_CALL} from ai_tool_call c where c.id = $1`;

const DROP = `delete from ai_tool_call where id = $1 and status = 'ready' and attempts = 0`;
