import { type Form, propertiesOf, type Schema } from '../ui/schema-shape.ts';

/** Whether queries by a form are SQL, of which a server can tell the plan, and tables are known. */
export function isSQL({ schema }: Form): boolean {
  const { query, url } = propertiesOf(schema as Schema);
  return query?.type === 'string' && url === undefined;
}
