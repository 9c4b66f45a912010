import type { Permission } from '#shared/access/policy/permissions.ts';
import type { Caller } from '#shared/core/caller.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { ApiContext } from '../../context/context.ts';
import { type Binding, boundTypes, demandOf } from '../../pages/bindings.ts';
import { resolveParameters } from '../../pages/parameters.ts';
import { bindingIn, creatorDenied, type OpenPage, openPage, requireNoDraft, type Viewing } from './open-page.ts';

interface WantedOnPage {
  type: 'query' | 'workflow' | 'runs';
  alias: string;
  /** Values that the viewer has sent. */
  given: JsonObject;
}

interface Wanted extends WantedOnPage {
  appPageID: string;
}

export interface OpenBinding {
  /** The id of the query or the workflow. */
  id: string;
  inputs: JsonObject;
  /** The creator of the page, by request of the viewer. */
  caller: Caller;
  runColumns: Binding['runColumns'];
  /** Throws unless the creator of the page has the permission now. */
  requireOfCreator(permission: Permission, object: string): Promise<void>;
}

/**
 * Opens the binding that a viewer runs through a page: one that the page has now, with parameters that it declares, as long as the creator of
 * the page may execute it. The viewer needs no permission but that to read the page, which the route has checked.
 */
export async function openBinding(
  viewing: Viewing,
  context: Pick<ApiContext, 'pool' | 'access'>,
  { appPageID, ...wanted }: Wanted,
): Promise<OpenBinding> {
  return bindingOn(await openPage(viewing, context, appPageID), wanted);
}

/** The binding of a page that is open already. */
export async function bindingOn(
  { page, caller, mayCreator }: OpenPage,
  { type, alias, given }: WantedOnPage,
): Promise<OpenBinding> {
  requireNoDraft(page);
  const binding = bindingIn(page, type, alias);
  const inputs = resolveParameters(binding.inputValues, given);
  const { noun } = boundTypes[type];
  const needed = demandOf(binding);
  const requireOfCreator = async (permission: Permission, object: string) => {
    if (!(await mayCreator(permission, object))) throw creatorDenied(noun, permission);
  };
  await requireOfCreator(needed.permission, needed.object);
  return { id: binding.id, inputs, caller, requireOfCreator, runColumns: binding.runColumns };
}
