/** Faults that end a program at its start. */

/** Starts a program. If that fails, says why and exits with code 1. */
export async function startOrExit<T>(name: string, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    process.stderr.write(`${name} did not start: ${describeFailure(error)}\n`);
    process.exit(1);
  }
}

/** A sentence for a fault that a person mends, such as a wrong password; the stack for a fault of the program. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const known = describeKnown(at);
    if (known !== undefined) return known;
  }
  // Errors of the language have classes of their own; those that our code and drivers throw to people have none, or a code.
  const isForPeople = error.constructor === Error || 'code' in error;
  return isForPeople && error.message !== '' ? error.message : (error.stack ?? error.message);
}

function describeKnown(error: Error): string | undefined {
  if (error instanceof AggregateError && error.errors.length > 0) return describeFailure(error.errors[0]);
  if (/^(WRONGPASS|NOAUTH)\b/.test(error.message)) return 'REDIS_URL: Redis refuses the user name or the password';
  const code = 'code' in error ? error.code : undefined;
  if (code === '28P01' || code === '28000')
    return `DATABASE_URL: Postgres refuses the user name or the password (${error.message})`;
  if (code === '3D000') return `DATABASE_URL: ${error.message}; create it first`;
  return undefined;
}
