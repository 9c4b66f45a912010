import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { insertAuditRecords, wholeEntry } from '#shared/access/audit/records.ts';
import { requireQuota } from '#shared/access/quotas.ts';
import { TOOLS_CHANNEL } from '#shared/apps/ai/chat.ts';
import { digestOf, TOOL_CALL, type ToolCall } from '#shared/apps/ai/tool-calls.ts';
import type { Caller } from '#shared/core/caller.ts';
import type { Logger } from '#shared/core/logger.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';

/** A call of a tool that a node asks for. */
export interface NodeCall {
  tenantID: string;
  /** The run. When it has ended, the call is not wanted any more. */
  instanceID: string;
  caller: Caller;
  /** The same for every attempt of the node. */
  key: string;
  /** Number of the call among those of the node. */
  number: number;
  tool: string;
  input: unknown;
  /** Whether the author has granted the call by naming the tool in the node, so that also a tool that changes something is called. */
  isGranted: boolean;
}

export interface ToolCalls {
  /**
   * Has an API process call a tool, and waits for the result. The same call in a later attempt of the node gets the first result, so a
   * tool is called once.
   */
  call(wanted: NodeCall, signal: AbortSignal): Promise<ToolCall>;
  /** Refuses a call of a tool that the node does not name, or that its caller may not use. Resolves when the audit trail has the refusal. */
  refuse(wanted: NodeCall & { nodeID: string }): Promise<ToolCall>;
}

const UNNAMED = 'The node does not name this tool, or the caller of the run or its author may not use it';
const MAX_NAME = 128;

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
      const { tenantID, caller, key, number, tool, input, isGranted, instanceID } = wanted;
      const digest = digestOf(input);
      const id = callID(wanted);
      const values = [id, tenantID, idOf(key), number, tool, JSON.stringify(input), digest, JSON.stringify(caller)];
      await inTransaction(pool, async (client) => {
        const amount = Buffer.byteLength(String(values[5]));
        await requireQuota(onClient(client), { quota: 'aiNodeBytes', ownerID: tenantID, amount });
        await client.query(ADD, [...values, isGranted, instanceID]);
      });
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
        // Deletes the call if it has not begun. The next attempt of the node may add it again.
        if (signal.aborted) await pool.query(DROP, [id]);
        throw error;
      }
    },
    async refuse(wanted) {
      const { tenantID, caller, tool, instanceID, nodeID } = wanted;
      const { type, id: callerID, userID } = caller;
      // A later attempt of the node has the same id, so the audit trail gets one entry.
      const id = callID(wanted);
      const entry = wholeEntry({
        ...{ id, tenantID, type: 'AI_TOOL_CALL', action: 'refuse', status: 403 },
        userID: userID ?? (type === 'user' ? callerID : null),
        apiKeyID: type === 'apiKey' ? callerID : null,
        details: { tool: tool.slice(0, MAX_NAME), toolCallID: id, instanceID, nodeID },
      });
      await insertAuditRecords(pool, [entry]);
      const output = JSON.stringify(UNNAMED);
      return {
        id,
        tool,
        input: '{}',
        status: 'failed',
        output,
        reason: null,
        isDecided: false,
        providerMetadata: null,
      };
    },
  };
}

/** Id of a call: the same for the same call in each attempt of the node. */
function callID({ key, number, tool, input }: NodeCall): string {
  return idOf(`${key} ${number} ${tool} ${digestOf(input)}`);
}

/** A UUID that is the same for the same text. */
function idOf(text: string): string {
  const hex = hash('sha256', text, 'hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

const ADD = `
insert into ai_tool_call (id, tenant_id, turn_id, number, tool, input, input_digest, caller, is_granted, instance_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (id) do nothing`;

const READ = `select ${TOOL_CALL} from ai_tool_call c where c.id = $1`;

const DROP = `delete from ai_tool_call where id = $1 and status = 'ready' and attempts = 0`;
