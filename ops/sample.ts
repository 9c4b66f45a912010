import { io } from 'socket.io-client';

const EMAIL = 'you@example.com';
const TENANT = 'Sample';
const WORKFLOW = 'Greet';

/** The sample workflow: greets by name, after half a second when the name contains "world". */
const sampleGraph = {
  workflowNodes: [
    { id: 'start', type: 'start', data: { title: 'Start' }, position: { x: 0, y: 0 } },
    {
      id: 'greet',
      type: 'javascript',
      data: { title: 'Greet', code: 'return "Hello, " + ctx.input.name + "!";', outputVariable: 'greeting' },
      position: { x: 240, y: 0 },
    },
    {
      id: 'whole',
      type: 'condition',
      data: {
        title: 'The whole world?',
        branches: [
          { id: 'yes', conditions: [{ operator: 'contains', leftValue: '{{ctx.input.name}}', rightValue: 'world' }] },
        ],
      },
      position: { x: 480, y: 0 },
    },
    { id: 'breathe', type: 'delay', data: { title: 'Take a breath', delayMs: 500 }, position: { x: 720, y: -80 } },
    {
      id: 'end',
      type: 'end',
      data: { title: 'End', outputParameters: [{ name: 'greeting', sourceVariable: '{{ctx.greeting}}' }] },
      position: { x: 960, y: 0 },
    },
  ],
  workflowEdges: [
    { id: 'e1', source: 'start', target: 'greet', sourceHandle: 'output' },
    { id: 'e2', source: 'greet', target: 'whole', sourceHandle: 'success' },
    { id: 'e3', source: 'whole', target: 'breathe', sourceHandle: 'yes' },
    { id: 'e4', source: 'whole', target: 'end', sourceHandle: 'default' },
    { id: 'e5', source: 'breathe', target: 'end', sourceHandle: 'output' },
  ],
  workflowOptions: { inputDefinitions: [{ key: 'name', type: 'string', required: true }] },
};

/** Runs the sample through the public API as a client would, saying each step as its event arrives. */
export async function runSample(baseURL: string, say: (line: string) => void): Promise<{ tryNext: string[] }> {
  let token: string | undefined;
  ({ token } = await call<{ token: string }>('POST', '/dev/token', { email: EMAIL }));
  const tenantID = await findOrCreateTenant();
  const base = `/api/v1/tenants/${tenantID}/workflows`;
  const workflowID = await findOrCreateWorkflow();

  say('');
  say(`Running the sample workflow "${WORKFLOW}":`);
  const { instanceID } = await call<{ instanceID: string }>('POST', `${base}/${workflowID}/execute`, {
    args: { name: 'world' },
  });
  await watch(instanceID);
  return {
    tryNext: [
      `TOKEN=$(curl -s ${baseURL}/dev/token -H 'content-type: application/json' -d '{"email":"${EMAIL}"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`,
      `curl -s "${baseURL}${base}/${workflowID}/execute?wait=30" -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{"args":{"name":"Ada"}}'`,
    ],
  };

  async function findOrCreateTenant(): Promise<string> {
    const { tenants } = await call<{ tenants: { id: string; tenantTitle: string }[] }>('GET', '/api/v1/tenants');
    const known = tenants.find(({ tenantTitle }) => tenantTitle === TENANT);
    if (known) return known.id;
    const { tenant } = await call<{ tenant: { id: string } }>('POST', '/api/v1/tenants', { tenantTitle: TENANT });
    return tenant.id;
  }

  async function findOrCreateWorkflow(): Promise<string> {
    const { workflows } = await call<{ workflows: { id: string; title: string }[] }>(
      'GET',
      `${base}?search=${WORKFLOW}`,
    );
    const known = workflows.find(({ title }) => title === WORKFLOW);
    if (known) return known.id;
    const { workflow } = await call<{ workflow: { id: string } }>('POST', base, { title: WORKFLOW, ...sampleGraph });
    return workflow.id;
  }

  async function watch(instanceID: string): Promise<void> {
    const titles = new Map(sampleGraph.workflowNodes.map(({ id, data }) => [id, data.title]));
    const socket = io(baseURL, { auth: { token }, transports: ['websocket'] });
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error('the sample run did not end within 60 s; see the logs')),
          60_000,
        );
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

  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(baseURL + path, {
      method,
      headers: {
        prefer: 'handling=strict',
        ...(body && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as T & { error?: { message: string } };
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${answer.error?.message}`);
    return answer;
  }
}

function brief(output: unknown): string {
  const text = JSON.stringify(output);
  return text === 'null' || text === undefined ? '' : text.length > 90 ? `${text.slice(0, 90)}…` : text;
}
