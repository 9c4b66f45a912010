import { tokenCommand } from './call.ts';
import type { Sample, SampleExample } from './read.ts';

interface CommandContext {
  baseURL: string;
  tenantID: string;
  ids: ReadonlyMap<string, string>;
  /** Whether the development issuer signs the tokens; else the reader has one in `TOKEN`. */
  signsTokens: boolean;
}

/** Shell commands that execute the examples of an installed sample, with a comment above each. */
export function commandsOf(
  { examples, items }: Sample,
  { baseURL, tenantID, ids, signsTokens }: CommandContext,
): string[] {
  const base = `${baseURL}/api/v1/tenants/${tenantID}/workflows`;
  const token = signsTokens ? [tokenCommand(baseURL)] : [];
  return [
    ...token,
    ...examples.flatMap(({ title, ...example }) => ['', `# ${title}`, ...commandsFor(example, { base, ids })]),
    ...items.flatMap(({ type, payload }) =>
      type === 'listener'
        ? deliveryTo(`${baseURL}/webhooks/v1/inbound/${tenantID}/${payload.endpointPath}`, examples)
        : [],
    ),
  ];
}

/** A sender of a webhook has no token. */
function deliveryTo(url: string, [example]: readonly SampleExample[]): string[] {
  return ['', '# A delivery to the webhook', curl(url, example?.args ?? {}, '')];
}

function commandsFor(
  { workflowID, args, answers = [] }: Omit<SampleExample, 'title'>,
  { base, ids }: { base: string; ids: ReadonlyMap<string, string> },
): string[] {
  const run = `${base}/${ids.get(workflowID)}/execute`;
  if (answers.length === 0) return [curl(`${run}?wait=30`, { args })];
  const pending = `curl -s "${base}/data-collection?status=PENDING&instanceID=$RUN" -H "authorization: Bearer $TOKEN"`;
  // The run asks a moment after its start, and again a moment after an answer.
  const find = `REQUEST=; until [ -n "$REQUEST" ]; do sleep 1; REQUEST=$(${pending} | ${readField('collectionRequestID')}); done`;
  const answer = (submittedData: object) => [find, curl(`${base}/data-collection/$REQUEST/submit`, { submittedData })];
  return [`RUN=$(${curl(run, { args })} | ${readField('instanceID')})`, ...answers.flatMap(answer)];
}

function readField(field: string): string {
  return `sed -n 's/.*"${field}":"\\([^"]*\\)".*/\\1/p'`;
}

function curl(url: string, body: object, authorization = ' -H "authorization: Bearer $TOKEN"'): string {
  const data = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -s "${url}"${authorization} -H 'content-type: application/json' -d '${data}'`;
}
