import { titleOf } from '#ops/samples/prepare.ts';
import type { Sample } from '#ops/samples/read.ts';
import type { Schemas } from './types.ts';

/** The samples of `ops/samples`, of which the build has made one file. Here they are called templates. */
export type Template = Sample;
export type TemplateNeed = Sample['needs'][number];

/** The workflow that the first example runs. */
export function mainWorkflow({ items, examples, name }: Template) {
  const workflow = items.find(({ id }) => id === examples[0]?.workflowID);
  if (workflow?.type !== 'workflow') throw new Error(`The template ${name} has no workflow`);
  return workflow;
}

/** The page that an installation opens; undefined for a template of a workflow. */
export function mainPage({ items, page }: Template) {
  const found = items.find(({ id }) => id === page);
  return found?.type === 'appPage' ? found : undefined;
}

/** The title of what an installation opens. */
export function mainTitle(template: Template): string {
  return mainPage(template)?.payload.appPageTitle ?? mainWorkflow(template).payload.title;
}

/** The titles of what an installation adds, by type, in the order of the template. */
export function titlesIn({ items, variables }: Template): { type: Schemas['BundledType']; title: string }[] {
  const assets = items.flatMap((item) => {
    const title = titleOf(item);
    return item.type === 'file' || title === undefined ? [] : [{ type: item.type, title }];
  });
  return [...assets, ...variables.map(({ name }) => ({ type: 'variable' as const, title: name }))];
}

/** The titles of its items, by their keys. */
export function titlesByID({ items }: Template): Map<string, string | undefined> {
  return new Map(items.map((item) => [item.id, titleOf(item)]));
}

/** The tables that an installation makes in the database of the tenant. */
export function tablesIn({ setup }: Template): string[] {
  return setup.flatMap((sql) => /^create table if not exists (\w+)/.exec(sql)?.[1] ?? []);
}
