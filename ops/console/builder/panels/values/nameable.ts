import type { Shape } from '#shared/workflow/nodes/results.ts';
import type { Root } from '../../../page/bindings/expression.ts';
import type { PageState } from '../../../page/state/page-state.ts';
import { isObject } from '../../../ui/is-object.ts';
import type { PageDocument } from '../../document.ts';
import { namesOfWidgets, sourcesOf, variablesOf } from '../config.ts';
import { chosenRowsIn } from './chosen-rows.ts';
import type { Nameable, Named } from './page-values.ts';

/** All that expressions of a document can name: names as they stand in it, values as the page on the canvas has them. */
export function nameableIn(document: PageDocument, page: PageState | undefined, event?: Shape): Nameable {
  const nowOf = (root: Root, name: string) => page?.bindings.get(root, name);
  const sources = sourcesOf(document.config);
  const named = (root: Root, names: readonly { name: string; note?: string | undefined }[]): Named[] =>
    names.map((one) => ({ ...one, value: nowOf(root, one.name) }));
  const { viewer } = page?.content.get() ?? {};
  return {
    queries: named(
      'queries',
      sources.filter(({ type }) => type !== 'workflow').map(({ alias }) => ({ name: alias })),
    ),
    workflows: named(
      'workflows',
      sources.filter(({ type }) => type === 'workflow').map(({ alias }) => ({ name: alias })),
    ),
    variables: named(
      'variables',
      variablesOf(document.config).map(({ key, description }) => ({
        name: key,
        note: typeof description === 'string' ? description : undefined,
      })),
    ),
    widgets: named(
      'widgets',
      [...namesOfWidgets(document)].map(([key, name]) => ({ name, note: document.widgets[key]?.title })),
    ),
    viewer: isObject(viewer) ? viewer : undefined,
    page: page && { id: page.content.get().id, title: document.title, params: page.content.get().params },
    event,
    chosenRows: chosenRowsIn(document, page),
  };
}
