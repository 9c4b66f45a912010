/**
 * The user that Postgres runs as. Postgres refuses uid 0, and a bare machine is often used as root.
 *
 * As root, it is the owner of the folder if that is an ordinary user (who can then delete the files), else a system user. That user
 * may be unable to reach the binaries and the data, because the clone is in /root or in a `mktemp -d`: then the process keeps one
 * capability of root, the weakest that is enough.
 */
import { execFile } from 'node:child_process';
import { chown, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { tiedToParent } from './processes.ts';

const exec = promisify(execFile);

export interface ServiceUser {
  /** Wraps a command to run as this user and to get the signal when this process ends. */
  command(deathSignal: 'INT' | 'KILL', command: readonly string[]): string[];
  /** Gives a file or folder to this user. */
  own(path: string): Promise<void>;
}

export async function serviceUserFor(folder: string, program: string): Promise<ServiceUser> {
  if (process.getuid?.() !== 0) return ourselves();

  const account = await accountFor(folder);
  const parent = dirname(folder);
  for (const capability of [undefined, 'dac_read_search', 'dac_override']) {
    const user = switched(account, capability);
    if (await canReach(user, parent, program)) return user;
  }
  throw new Error(
    `The user '${account.name}', whom Postgres would run as because it refuses root, cannot reach ${program} and ${parent}, ` +
      'and this system does not let root grant it the right; move the project out of the closed folder, or start as an ordinary user.',
  );
}

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

function ourselves(): ServiceUser {
  return { command: tiedToParent, own: async () => {} };
}

function switched({ uid, gid }: Account, capability: string | undefined): ServiceUser {
  const become = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...(capability ? grant(capability) : [])];
  return {
    command: (signal, command) => ['setpriv', ...become, '--pdeathsig', signal, '--', ...command],
    own: (path) => chown(path, uid, gid),
  };
}

/** access(2), by which initdb finds its sibling, ignores a capability of an ordinary user unless no_setuid_fixup is set. */
function grant(capability: string): string[] {
  return [`--inh-caps=-all,+${capability}`, `--ambient-caps=-all,+${capability}`, '--securebits=+no_setuid_fixup'];
}

async function accountFor(folder: string): Promise<Account> {
  const owner = await ownerOfNearest(folder);
  const wanted = owner === 0 ? ['postgres', 'gantry'] : [String(owner), 'postgres', 'gantry'];
  for (const key of wanted) {
    const account = await findAccount(key);
    if (account) return account;
  }
  await exec('useradd', [
    '--system',
    '--user-group',
    '--no-create-home',
    '--shell',
    '/usr/sbin/nologin',
    'gantry',
  ]).catch(() => {});
  const account = (await findAccount('gantry')) ?? (await findAccount('nobody'));
  if (!account) throw new Error('Postgres refuses to run as root, and this system has no other user to run it as.');
  return account;
}

async function ownerOfNearest(folder: string): Promise<number> {
  for (let path = folder; ; path = dirname(path)) {
    const found = await stat(path).catch(() => undefined);
    if (found) return found.uid;
  }
}

/** initdb insists that its user has a name, so a bare uid will not do. */
async function findAccount(key: string): Promise<Account | undefined> {
  const entry = await exec('getent', ['passwd', key]).catch(() => undefined);
  const [name, , uid, gid] = entry?.stdout.split(':') ?? [];
  return name && uid && gid ? { name, uid: Number(uid), gid: Number(gid) } : undefined;
}

async function canReach(user: ServiceUser, folder: string, program: string): Promise<boolean> {
  const [command = '', ...args] = user.command('KILL', [
    'sh',
    '-c',
    'cd "$1" && exec "$2" --version',
    'sh',
    folder,
    program,
  ]);
  return exec(command, args).then(
    () => true,
    () => false,
  );
}
