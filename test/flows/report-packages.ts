/**
 * For `node --import`: remembers the packages that the sources of this repository load, and answers any message with their
 * names. What these packages need in their turn is not listed.
 */
import { registerHooks } from 'node:module';

const packages = new Set<string>();

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    const name = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(resolved.url)?.[1];
    if (name !== undefined && !context.parentURL?.includes('/node_modules/')) packages.add(name);
    return resolved;
  },
});
process.on('message', () => process.send?.([...packages].sort()));
