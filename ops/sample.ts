/**
 * `npm run sample -- <name>`: installs a sample of ops/samples into a running Gantry through its public API, and prints the commands
 * that run it. Without a name it lists the samples.
 */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { Json } from '#shared/core/json.ts';
import { parseExact } from '#shared/core/lossless-json.ts';
import { type Call, createCall, developmentToken, sampleTenant } from './samples/call.ts';
import { commandsOf } from './samples/commands.ts';
import { installSample } from './samples/install.ts';
import { readSample, type Sample, sampleNames } from './samples/read.ts';

const usage = `usage: npm run sample -- <name> [--url <URL>] [--tenant <id>] [--set <variable>=<value>] … [--use <name>=<datasource id>] …
  --url     of the Gantry; default: http://127.0.0.1:8080, or the port in PORT
  --tenant  default: the tenant "Sample", which is created
  --set     the value of a variable of the sample; that of a secret is read from the environment: <variable>=… npm run sample
  --use     the datasource of the tenant for one that the sample needs
TOKEN=… is the access token; without it, the development issuer of npm start signs one.`;

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      url: { type: 'string' },
      tenant: { type: 'string' },
      set: { type: 'string', multiple: true },
      use: { type: 'string', multiple: true },
    },
    allowPositionals: true,
  });
  const [name, ...rest] = positionals;
  const names = await sampleNames();
  if (name === undefined) return list(names);
  if (rest.length > 0) throw new Error(usage);
  if (!names.includes(name)) throw new Error(`There is no sample "${name}". The samples are ${names.join(', ')}`);
  if (values.tenant !== undefined && !z.uuid().safeParse(values.tenant).success)
    throw new Error(`--tenant: expected the id of a tenant, received "${values.tenant}"`);
  const sample = await readSample(name);
  const given = valuesOf(sample, values.set ?? []);
  const used = idsOf(sample, values.use ?? []);
  const baseURL = (values.url ?? `http://127.0.0.1:${process.env.PORT || 8080}`).replace(/\/+$/, '');
  const token = process.env.TOKEN || (await signedToken(baseURL));
  const call = createCall(baseURL, token);
  const tenantID = values.tenant ?? (await sampleTenant(call));
  const datasources = await readDatasources(call, tenantID, used);
  const installation = { tenantID, values: given, datasources, secrets: secretsOf(sample) };
  const { ids, secrets } = await installSample(call, sample, installation);
  const commands = commandsOf(sample, { baseURL, tenantID, ids, secrets, signsTokens: !process.env.TOKEN });
  console.log(
    `${sample.title} is installed in the tenant ${tenantID}.\n${sample.description}\n\n${commands.join('\n')}`,
  );
}

async function list(names: readonly string[]): Promise<void> {
  const samples = await Promise.all(names.map((name) => readSample(name)));
  const width = Math.max(...names.map(({ length }) => length)) + 3;
  const lines = samples.map(({ name, description }) => `  ${name.padEnd(width)}${description}`);
  console.log(`${lines.join('\n')}\n\n${usage}`);
}

function valuesOf({ variables }: Sample, given: readonly string[]): Record<string, Json> {
  const secrets = variables.flatMap(({ name, isSecret }): [string, Json][] => {
    const value = isSecret ? process.env[name] : undefined;
    return value ? [[name, value]] : [];
  });
  const set = given.map((text): [string, Json] => {
    const [name = '', ...value] = text.split('=');
    const variable = variables.find((one) => one.name === name);
    if (!variable || value.length === 0)
      throw new Error(`--set: expected a variable of the sample, as name=value, received "${name}"`);
    if (variable.isSecret)
      throw new Error(`--set: ${name} is a secret; set it in the environment, where other users cannot see it`);
    return [name, readValue(value.join('='), variable.value)];
  });
  return Object.fromEntries([...secrets, ...set]);
}

/** Ids of datasources, by the names of what the sample needs. */
function idsOf({ name: sample, needs }: Sample, given: readonly string[]): ReadonlyMap<string, string> {
  const wanted = needs.filter((need) => need.kind === 'datasource');
  const ids = new Map(
    given.map((text): [string, string] => {
      const [name = '', id = ''] = text.split('=');
      if (!wanted.some((need) => need.name === name) || !z.uuid().safeParse(id).success)
        throw new Error(
          `--use: expected a need of the sample and the id of a datasource, as name=id, received "${text}"`,
        );
      return [name, id];
    }),
  );
  const missing = wanted.find(({ name }) => !ids.has(name));
  if (missing)
    throw new Error(
      `The sample ${sample} needs a datasource of the type ${missing.types.join(' or ')}: --use ${missing.name}=<id> (${missing.title})`,
    );
  return ids;
}

async function readDatasources(call: Call, tenantID: string, ids: ReadonlyMap<string, string>) {
  const read = async ([name, id]: [string, string]) => {
    const path = `/api/v1/tenants/${tenantID}/datasources/${id}`;
    const { datasource } = await call<{ datasource: { datasourceType: string } }>('GET', path);
    return [name, { id, datasourceType: datasource.datasourceType }] as const;
  };
  return Object.fromEntries(await Promise.all([...ids].map(read)));
}

function secretsOf({ needs }: Sample): Record<string, string> {
  const given = needs.flatMap((need): [string, string][] => {
    const value = need.kind === 'secret' ? process.env[need.name] : undefined;
    return need.kind === 'secret' && value ? [[need.name, value]] : [];
  });
  return Object.fromEntries(given);
}

/** A text stays one; other values are JSON. */
function readValue(text: string, sample: Json): Json {
  if (typeof sample === 'string') return text;
  try {
    return parseExact(text) as Json;
  } catch {
    throw new Error(`--set: expected a value like ${JSON.stringify(sample)}, received "${text}"`);
  }
}

async function signedToken(baseURL: string): Promise<string> {
  try {
    return await developmentToken(baseURL);
  } catch (cause) {
    const refused = cause instanceof TypeError;
    const message = refused
      ? `No Gantry answers at ${baseURL}. Start one with "npm start", or name another with --url`
      : `The Gantry at ${baseURL} signs no tokens for development: set TOKEN to an access token`;
    throw new Error(message, { cause });
  }
}
