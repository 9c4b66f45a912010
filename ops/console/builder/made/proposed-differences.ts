import { isSame, type PageDocument } from '../document.ts';
import { type PageChange, pageChanges } from '../panels/versions/page-changes.ts';

/** The differences between two states of a page, with its widgets. */
export function pageDifferences(before: PageDocument, after: PageDocument): PageChange[] {
  const widgets = { ...before.widgets, ...after.widgets };
  const contentOf = ({ title, description, config }: PageDocument) => ({
    title,
    description: description ?? null,
    config,
  });
  const ofPage = pageChanges(contentOf(before), contentOf(after), (key) => widgets[key]?.title ?? key);
  const changed = Object.values(after.widgets).flatMap((widget): PageChange[] => {
    const old = before.widgets[widget.key];
    if (!old || old === widget) return [];
    const fields = ['properties', 'events'].flatMap((field) => {
      const [from, to] = [old.config[field], widget.config[field]];
      return isSame(from, to) ? [] : [{ field: field === 'events' ? 'Actions' : 'Properties', from, to }];
    });
    const title = old.title === widget.title ? [] : [{ field: 'Title', from: old.title, to: widget.title }];
    const all = [...title, ...fields];
    if (all.length === 0) return [];
    return [{ key: `changed ${widget.key}`, what: 'Widget', name: widget.title, verb: 'changed', fields: all }];
  });
  return [...ofPage, ...changed];
}
