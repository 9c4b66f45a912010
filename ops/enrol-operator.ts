/**
 * Enrols operators; no endpoint can:
 *   npm run enrol-operator -- create <email> [--title <title>] | reset-password <email> | disable <email> | enable <email>
 * A password comes from standard input, or is made up and printed once; never from an argument, which others can see.
 * Without DATABASE_URL it works on the embedded Gantry of this folder, while that runs.
 */
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { createPasswords } from '#api/auth/passwords.ts';
import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { createOrm, type EntityManager } from '#shared/entities/orm.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { Operator } from '#shared/entities/tables/operator.ts';
import { type OperatorAction, OperatorAudit } from '#shared/entities/tables/operator-audit.ts';
import { OperatorSession } from '#shared/entities/tables/operator-session.ts';
import { readConfig } from '#shared/process/config.ts';
import { describeFailure } from '#shared/process/start-failure.ts';
import { commandEnvironment } from './embedded/command-environment.ts';

const usage =
  'usage: npm run enrol-operator -- create <email> [--title <title>] | reset-password <email> | disable <email> | enable <email>';
const shortest = 12;
const longest = 1024;

interface Order {
  email: string;
  title: string | undefined;
  em: EntityManager;
}

const commands: Record<string, (order: Order) => Promise<void>> = {
  create: createOperator,
  'reset-password': resetPassword,
  disable: (order) => changeOperator(order, 'DISABLED', (operator) => Object.assign(operator, { isDisabled: true })),
  enable: (order) => changeOperator(order, 'ENABLED', (operator) => Object.assign(operator, { isDisabled: false })),
};

try {
  await main();
} catch (error) {
  console.error(describeFailure(error));
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: { title: { type: 'string' } }, allowPositionals: true });
  const [name = '', typed, ...rest] = positionals;
  const command = commands[name];
  if (!command || typed === undefined || rest.length > 0) throw new Error(usage);
  const email = z.email().max(255).safeParse(typed.toLowerCase());
  if (!email.success) throw new Error(`"${typed}" is no e-mail address`);
  if ((values.title?.length ?? 0) > 255) throw new Error('--title: at most 255 characters');
  if (values.title !== undefined && name !== 'create') throw new Error('--title goes with create only');

  const config = readConfig(await commandEnvironment());
  const logger = createLogger({ level: config.log.level }, { process: 'enrol-operator' });
  await using resources = new AsyncDisposableStack();
  const pool = createPool(config.db, logger, { max: 1, name: 'gantry.enrol' });
  resources.defer(() => pool.end());
  await requireSchema(pool, logger);
  const orm = await createOrm(config.db, logger);
  resources.defer(() => orm.close());
  await command({ email: email.data, title: values.title, em: orm.em.fork() });
}

async function createOperator({ email, title, em }: Order): Promise<void> {
  const taken = new Error(`There is an operator ${email} already`);
  if (await em.findOne(Operator, { email })) throw taken;
  const { password, isMadeUp } = await choosePassword();
  const id = newID();
  const passwordHash = await createPasswords().hash(password);
  em.create(Operator, { id, email, operatorTitle: title ?? null, passwordHash });
  em.create(OperatorAudit, { operatorID: id, action: 'CREATED' });
  // Two commands may run at once.
  await em.flush().catch((error: unknown) => {
    throw error instanceof UniqueConstraintViolationException ? taken : error;
  });
  console.log(`Operator ${email} created.`);
  show(password, isMadeUp);
}

async function resetPassword(order: Order): Promise<void> {
  await findOperator(order.em, order.email);
  const { password, isMadeUp } = await choosePassword();
  const passwordHash = await createPasswords().hash(password);
  await changeOperator(order, 'PASSWORD_RESET', (operator) => {
    operator.passwordHash = passwordHash;
    operator.passwordVersion += 1;
  });
  show(password, isMadeUp);
}

/** Ends every session of the operator. A login waits for the lock, and then finds the operator changed. */
async function changeOperator(
  { email, em }: Order,
  action: OperatorAction,
  change: (operator: Operator) => void,
): Promise<void> {
  const ended = await em.transactional(async (em) => {
    const operator = await findOperator(em, email, LockMode.PESSIMISTIC_WRITE);
    change(operator);
    em.create(OperatorAudit, { operatorID: operator.id, action });
    return em.nativeUpdate(OperatorSession, { operatorID: operator.id, revokedAt: null }, { revokedAt: new Date() });
  });
  console.log(`Operator ${email}: ${action.toLowerCase().replace('_', ' ')}, ${ended} sessions revoked.`);
}

async function findOperator(em: EntityManager, email: string, lockMode?: LockMode): Promise<Operator> {
  const operator = await em.findOne(Operator, { email }, { ...(lockMode && { lockMode }), refresh: true });
  if (!operator) throw new Error(`There is no operator ${email}`);
  return operator;
}

async function choosePassword(): Promise<{ password: string; isMadeUp: boolean }> {
  const given = process.stdin.isTTY ? '' : (await text(process.stdin)).replace(/\r?\n$/, '');
  if (given === '') return { password: randomBytes(18).toString('base64url'), isMadeUp: true };
  if (given.length < shortest || given.length > longest || /[\r\n\0]/.test(given))
    throw new Error(`A password is one line of ${shortest} to ${longest} characters`);
  return { password: given, isMadeUp: false };
}

function show(password: string, isMadeUp: boolean): void {
  if (isMadeUp) console.log(`Password, shown this once: ${password}`);
}
