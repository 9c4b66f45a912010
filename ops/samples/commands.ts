import { tokenCommand } from './call.ts';
import type { Sample, SampleExample } from './read.ts';

interface CommandContext {
  baseURL: string;
  tenantID: string;
  ids: ReadonlyMap<string, string>;
  /** Secrets of what was created, by the names of needs. */
  secrets?: Readonly<Record<string, string>>;
  /** Whether the development issuer signs the tokens; else the reader has one in `TOKEN`. */
  signsTokens: boolean;
}

/** Shell commands that execute the examples of an installed sample, with a comment above each. */
export function commandsOf(
  { examples, items, needs }: Sample,
  { baseURL, tenantID, ids, secrets = {}, signsTokens }: CommandContext,
): string[] {
  const signedBy = needs.find((need) => need.kind === 'secret');
  const base = `${baseURL}/api/v1/tenants/${tenantID}/workflows`;
  const token = signsTokens ? [tokenCommand(baseURL)] : [];
  return [
    ...token,
    ...examples.flatMap(({ title, ...example }) => ['', `# ${title}`, ...commandsFor(example, { base, ids })]),
    ...items.flatMap(({ type, payload }) =>
      type === 'listener'
        ? deliveryTo(`${baseURL}/webhooks/v1/inbound/${tenantID}/${payload.endpointPath}`, {
            examples,
            secret: signedBy && (secrets[signedBy.name] ?? `<${signedBy.title}>`),
          })
        : [],
    ),
  ];
}

/** A sender of a webhook has no token; it signs the body. */
function deliveryTo(
  url: string,
  { examples: [example], secret }: { examples: readonly SampleExample[]; secret: string | undefined },
): string[] {
  const body = quoted(JSON.stringify(example?.args ?? {}));
  const title = ['', '# A delivery to the webhook'];
  if (secret === undefined) return [...title, `curl -s "${url}" -H 'content-type: application/json' -d ${body}`];
  const signature = `$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d' ' -f1)`;
  const send = `curl -s "${url}" -H 'content-type: application/json' -H "x-signature: ${signature}" -d "$BODY"`;
  return [...title, `BODY=${body}; SECRET=${quoted(secret)}; ${send}`];
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

function curl(url: string, body: object): string {
  const data = quoted(JSON.stringify(body));
  return `curl -s "${url}" -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d ${data}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
