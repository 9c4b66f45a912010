import { JSONView } from '../../../ui/json.tsx';
import { firstResult, useWidget, type WidgetProps } from '../page-context.ts';

/** A widget of a type that this page cannot draw. */
export function UnknownWidget({ widgetKey, title, properties, data }: WidgetProps) {
  const type = useWidget(widgetKey)?.widgetType ?? '';
  return (
    <>
      <p className="page-nothing">
        Widgets of the type “<bdi>{type}</bdi>” are not drawn here. {data ? 'Its data:' : 'Its properties:'}
      </p>
      <JSONView label={title} value={data ? firstResult(data) : properties} />
    </>
  );
}
