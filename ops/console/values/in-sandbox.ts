export type CodeResult = { value: unknown } | { error: string };

/** Runs code as the engine does. It is given to the sandbox as text, so it can use nothing else of this module. */
export async function inSandbox(job: { body: string; names: string[]; values: unknown[] }): Promise<CodeResult> {
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
  /** Names of a browser that code of the engine lacks. */
  const absent = ['setTimeout', 'setInterval', 'queueMicrotask', 'performance', 'self'];
  // As the engine does, so that code may declare a name `vars`.
  const [around, own] = job.names.includes('vars') ? [job.names, []] : [[], job.names];
  const run = async (globals: string[]): Promise<unknown> => {
    const made = AsyncFunction(...around, ...absent, ...globals, `return (async function (${own}) {\n${job.body}\n})`);
    const code = await made(...(own.length > 0 ? [] : job.values));
    try {
      return await code(...job.values);
    } catch (error) {
      // A name that is assigned and declared nowhere is a global one in the engine; here nothing global can be made.
      const [, name] = /^([\w$]+) is not defined$/.exec(error instanceof ReferenceError ? error.message : '') ?? [];
      if (name === undefined || globals.includes(name) || !isAssigned(name)) throw error;
      return run([...globals, name]);
    }
  };
  const isAssigned = (name: string) =>
    new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}\\s*=(?![=>])`).test(job.body);
  const textOf = (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : `Error: ${error}`);
  // The first line of the code is the fourth of the text that is compiled.
  const lineOf = (error: unknown) =>
    Number(/<anonymous>:(\d+):\d+\)?$/m.exec((error instanceof Error && error.stack) || '')?.[1]) - 3;

  try {
    // Compiled alone at first, because a body could close the function around it.
    AsyncFunction(...own, job.body);
  } catch (error) {
    return { error: textOf(error) };
  }
  let value: unknown;
  try {
    value = await run([]);
  } catch (error) {
    const line = lineOf(error);
    return { error: textOf(error) + (line > 0 ? ` (line ${line})` : '') };
  }
  let refused: string | undefined;
  try {
    const json = JSON.stringify(value ?? null, (key, one) => {
      if (!['function', 'symbol', 'bigint'].includes(typeof one)) return one;
      refused = `The result is not JSON: ${key === '' ? 'it' : `"${key}"`} is a ${typeof one}`;
      throw new TypeError(refused);
    });
    return { value: JSON.parse(json) };
  } catch (error) {
    const isCircular = error instanceof TypeError && error.message.includes('circular');
    return { error: refused ?? (isCircular ? 'The result is not JSON: it contains itself' : textOf(error)) };
  }
}
