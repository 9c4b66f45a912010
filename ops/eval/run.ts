/**
 * `npm run eval`: has the tasks of ops/eval/tasks done over MCP in a running Gantry. Prints a line of JSON for each: calls of tools,
 * bytes of arguments and answers, and what failed. Each task gets a tenant, which is deleted afterwards.
 *
 *   npm run eval                     by the calls that each task brings along
 *   npm run eval -- add-a-row …      these tasks
 *   npm run eval -- --tools runs     with another list of tools; --url and --mcp are the addresses of the API and of the MCP service
 *
 * A model does them with EVAL_PROVIDER, EVAL_MODEL, EVAL_KEY and EVAL_BASE_URL, which mean what they mean in the AI settings of a tenant.
 */
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AISettings } from '#shared/apps/ai/providers.ts';
import { openModel } from '#workers/ai/open-model.ts';
import { createGantry } from '../client/index.ts';
import { developmentToken } from '../samples/call.ts';
import { drive, type Outcome } from './drive.ts';
import { modelAgent } from './model-agent.ts';
import type { Task } from './task.ts';
import { tasks } from './tasks/index.ts';

const { values, positionals } = parseArgs({
  options: {
    url: { type: 'string', default: `http://127.0.0.1:${process.env.PORT || 8080}` },
    mcp: { type: 'string', default: `http://127.0.0.1:${process.env.MCP_PORT || 8082}` },
    tools: { type: 'string', default: 'default' },
  },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !tasks.some((task) => task.name === name));
if (unknown.length > 0) {
  console.error(`There is no task ${unknown.join(', ')}. There are ${tasks.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

const token = process.env.TOKEN || (await developmentToken(values.url));
const gantry = createGantry({ baseURL: values.url, auth: { token } });
const model = await modelOf(process.env);
const outcomes: Outcome[] = [];
for (const task of tasks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  const outcome = await runTask(task);
  outcomes.push(outcome);
  console.log(JSON.stringify(outcome));
}
const done = outcomes.filter(({ failure }) => failure === undefined).length;
const [calls, bytes] = (['calls', 'bytes'] as const).map((of) => outcomes.reduce((sum, one) => sum + one[of], 0));
console.log(JSON.stringify({ done, of: outcomes.length, calls, bytes, by: process.env.EVAL_MODEL ?? 'the tasks' }));
process.exitCode = done === outcomes.length ? 0 : 1;

async function modelOf({ EVAL_PROVIDER, EVAL_MODEL, EVAL_KEY, EVAL_BASE_URL }: NodeJS.ProcessEnv) {
  if (!EVAL_MODEL) return undefined;
  const settings = { provider: EVAL_PROVIDER, model: EVAL_MODEL, apiKey: EVAL_KEY, baseURL: EVAL_BASE_URL };
  return openModel(AISettings.parse(settings), fetch as Parameters<typeof openModel>[1]);
}

async function runTask(task: Task): Promise<Outcome> {
  const { tenant } = await gantry.call('createTenant', { body: { tenantTitle: `Evaluation: ${task.name}` } });
  const path = { tenantID: tenant.id };
  const url = `${values.mcp}/tenants/${tenant.id}/mcp?tools=${encodeURIComponent(values.tools)}`;
  const headers = { authorization: `Bearer ${token}` };
  const client = new Client({ name: 'gantry-eval', version: '1' });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    const prepared = await task.prepare({ gantry, path });
    return await drive(task, prepared, client, model && modelAgent(model, { url, headers }));
  } finally {
    await client.close();
    await gantry.call('deleteTenant', { path });
  }
}
