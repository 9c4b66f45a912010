import { io } from 'socket.io-client';
import { z } from 'zod';
import { createCall, developmentToken, sampleTenant } from './call.ts';
import { commandsOf } from './commands.ts';
import { installSample } from './install.ts';
import { readSample } from './read.ts';

export const FIRST_SAMPLE = 'greeting';
const INPUT = { name: 'world' };

/** Installs the first sample and runs it through the public API as a client would, saying each step as its event arrives. */
export async function runFirstSample(baseURL: string, say: (line: string) => void): Promise<{ tryNext: string[] }> {
  const token = await developmentToken(baseURL);
  const call = createCall(baseURL, token);
  const tenantID = await sampleTenant(call);
  const sample = await readSample(FIRST_SAMPLE);
  const { ids } = await installSample(call, sample, { tenantID });
  const [example] = sample.examples;
  if (!example) throw new Error(`The sample ${FIRST_SAMPLE} has no example`);

  say('');
  say(`Running the sample workflow "${sample.title}":`);
  const { instanceID } = await call<{ instanceID: string }>(
    'POST',
    `/api/v1/tenants/${tenantID}/workflows/${ids.get(example.workflowID)}/execute`,
    { args: INPUT },
  );
  const workflow = sample.items.find(({ id }) => id === example.workflowID);
  await watch({ baseURL, token, instanceID, titles: titlesOf(workflow?.payload), say });
  const first = { ...sample, examples: [example] };
  return {
    tryNext: commandsOf(first, { baseURL, tenantID, ids, signsTokens: true }).filter((line) => !/^(#|$)/.test(line)),
  };
}

const Nodes = z.object({
  workflowNodes: z.array(z.object({ id: z.string(), data: z.object({ title: z.string() }) })),
});

function titlesOf(payload: unknown): ReadonlyMap<string, string> {
  return new Map(Nodes.parse(payload).workflowNodes.map(({ id, data }) => [id, data.title]));
}

interface Watched {
  baseURL: string;
  token: string;
  instanceID: string;
  titles: ReadonlyMap<string, string>;
  say: (line: string) => void;
}

async function watch({ baseURL, token, instanceID, titles, say }: Watched): Promise<void> {
  const socket = io(baseURL, { auth: { token }, transports: ['websocket'] });
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the sample run did not end within 60 s; see the logs')), 60_000);
      socket.on(
        'workflow_node_update',
        ({ nodeID, status, output }: { nodeID: string; status: string; output: unknown }) => {
          if (status !== 'RUNNING') say(`  ${status.padEnd(10)} ${titles.get(nodeID) ?? nodeID}   ${brief(output)}`);
        },
      );
      socket.on('workflow_status_update', ({ status, output }: { status: string; output: unknown }) => {
        if (!['COMPLETED', 'FAILED', 'CANCELLED'].includes(status)) return;
        clearTimeout(timer);
        say(`  ${status.padEnd(10)} ${brief(output)}`);
        if (status === 'COMPLETED') resolve();
        else reject(new Error(`the sample run ended as ${status}`));
      });
      socket.on('connect_error', (error) => reject(new Error(`the socket was refused: ${error.message}`)));
      socket.on('connect', () => socket.emit('workflow_run_join', { instanceID }));
    });
  } finally {
    socket.disconnect();
  }
}

function brief(output: unknown): string {
  const text = JSON.stringify(output);
  return text === 'null' || text === undefined ? '' : text.length > 90 ? `${text.slice(0, 90)}…` : text;
}
