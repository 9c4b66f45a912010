import { JSONView } from '../../../ui/json.tsx';
import { firstResult, type WidgetProps } from '../page-context.ts';

/** A widget of a type that this page cannot draw. */
export function UnknownWidget({ title, properties, data }: WidgetProps) {
  return <JSONView label={title} value={data ? firstResult(data) : properties} />;
}
