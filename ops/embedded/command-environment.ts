import { once } from 'node:events';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { readEmbeddedConfig } from '#shared/process/config.ts';
import { EMBEDDED_SERVER } from '#shared/tenants/embedded-server.ts';
import { readAddress } from './address.ts';
import { readSecretsKeys } from './home.ts';
import { findURL, TENANT_POSTGRES_FOLDER } from './postgres-folder.ts';

/**
 * Variables from which a command reads its configuration: those of the environment, and without DATABASE_URL those of the embedded
 * Gantry of this folder. With it, that Gantry says only where its users sign in.
 */
export async function commandEnvironment(): Promise<Record<string, string | undefined>> {
  const { DATABASE_URL, GANTRY_HOME } = process.env;
  const home = resolve(readEmbeddedConfig({ GANTRY_HOME }).home);
  if (DATABASE_URL) return { ...process.env, ...(await builtInSignIn(home)) };
  const url = await findURL(join(home, 'postgres'), 'gantry');
  if (!url || !(await isListening(url)))
    throw new Error(`No Gantry is running in ${home}: start it first (npm start), or set DATABASE_URL or GANTRY_HOME`);
  const SECRETS_KEYS = process.env.SECRETS_KEYS || (await readSecretsKeys(home));
  const tenantsURL = await findURL(join(home, TENANT_POSTGRES_FOLDER), 'postgres');
  const TENANT_DATABASES_URL =
    process.env.TENANT_DATABASES_URL || (tenantsURL ? `${EMBEDDED_SERVER}=${tenantsURL}` : '');
  const FILES_DIR = process.env.FILES_DIR || join(home, 'files');
  return {
    ...process.env,
    DATABASE_URL: url,
    TENANT_DATABASES_URL,
    SECRETS_KEYS,
    FILES_DIR,
    ...(await builtInSignIn(home)),
  };
}

/** Where users sign in at the Gantry that runs on the folder, unless the environment says who signs them in. */
async function builtInSignIn(home: string): Promise<{ AUTH: string; PUBLIC_URL: string } | undefined> {
  const { AUTH_ISSUER, PUBLIC_URL } = process.env;
  const signInAt = AUTH_ISSUER ? undefined : (await readAddress(home))?.signInAt;
  return signInAt === undefined ? undefined : { AUTH: 'builtin', PUBLIC_URL: PUBLIC_URL || signInAt };
}

async function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
