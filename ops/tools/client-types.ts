import { registerHooks } from 'node:module';

/**
 * The types of REST as `openapi-fetch` reads them, from the OpenAPI document. openapi-typescript calls TypeScript's API, which version 7,
 * our compiler, does not have.
 */
export async function clientTypes(document: object): Promise<string> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript5' : specifier, context),
  });
  try {
    const { astToString, default: generate } = await import('openapi-typescript');
    // A copy: the generator resolves references in place.
    const nodes = await generate(structuredClone(document) as never, { defaultNonNullable: false });
    return `/** Written by \`npm run openapi\` from ops/openapi.json. */\n${astToString(nodes)}`;
  } finally {
    hooks.deregister();
  }
}
