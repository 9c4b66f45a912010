import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Dependency } from '#shared/messaging/queues/workflow-plans.ts';
import { LINKS_ROOT } from '#shared/workflow/nodes/links-root.ts';
import type { Roots } from '#shared/workflow/templates/expressions.ts';
import { VARIABLES_ROOT } from '#shared/workflow/variables.ts';
import { type Dependencies, onlyOn } from './certainty.ts';

/** Stand-ins for the values of variables and links. They read as null and note a dependency: a plan shows no variables, and has no links. */
export function unreadRoots(note: (on: Dependencies) => void): Roots {
  const unread = (dependency: (key: string) => Dependency) => {
    const read = (key: string | symbol): Json => {
      note(onlyOn(dependency(String(key))));
      return null;
    };
    return new Proxy<JsonObject>(
      {},
      {
        get: (_target, key) => read(key),
        getOwnPropertyDescriptor: () => ({ value: null, writable: true, enumerable: true, configurable: true }),
      },
    );
  };
  return {
    [VARIABLES_ROOT]: unread((variable) => ({ variable, on: 'variable' })),
    [LINKS_ROOT]: unread((nodeID) => ({ nodeID, on: 'link' })),
  };
}
