/**
 * For `node --import`: the process is one of an earlier version, which does not know the kinds of nodes in WITHOUT_KINDS. Their
 * entries are taken out of the table of kinds as it is loaded; everything else is the code of today.
 */
import { registerHooks } from 'node:module';

const without = (process.env.WITHOUT_KINDS ?? '').split(',').filter((kind) => kind !== '');

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (without.length === 0 || !url.endsWith('/shared/workflow/nodes/index.ts') || !loaded.source) return loaded;
    let source = Buffer.from(loaded.source as Uint8Array).toString('utf8');
    for (const kind of without) {
      const shorter = source.replace(`\n  ${kind},\n`, '\n');
      if (shorter === source) throw new Error(`There is no kind "${kind}" to take out`);
      source = shorter;
    }
    return { ...loaded, source };
  },
});
