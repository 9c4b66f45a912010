import type { z } from 'zod';
import { type WidgetBinding, WidgetBindings } from '#shared/apps/widgets/bindings.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import type { Pool } from '#shared/db/pool.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';
import type { widgetData } from '#shared/messaging/queues/widget-data.ts';
import type { Reuse } from '../queries/queries.ts';

export interface LoadedWidget {
  widgetType: string;
  /** In the order in which they are shown. */
  bindings: readonly WidgetBinding[];
  /** Undefined for a widget that is not stored, or whose data are not reused. */
  reuse: Reuse | undefined;
}

type WidgetRequest = Pick<z.output<typeof widgetData.request>, 'tenantID' | 'widget'>;

/** The stored widget, or the one in the RPC request itself. */
export async function loadWidget(pool: Pool, { tenantID, widget }: WidgetRequest): Promise<LoadedWidget> {
  if (widget.kind === 'given')
    return { widgetType: widget.widgetType, bindings: inOrder(widget.dataQueries), reuse: undefined };
  const { rows } = await ownRead(() => pool.query<Row>(FIND, [widget.widgetID, tenantID]));
  const [row] = rows;
  if (!row) throw new AppError('NOT_FOUND', 'Widget not found');
  const bindings = requireValue(WidgetBindings, row.bindings ?? [], ['widgetConfig', 'dataQueries']);
  const scope = [widget.widgetID, row.version];
  const reuse = row.seconds > 0 ? { seconds: row.seconds, scope } : undefined;
  return { widgetType: row.type, bindings: inOrder(bindings), reuse };
}

interface Row {
  type: string;
  bindings: Json;
  seconds: number;
  /** Changes with every change of the widget. */
  version: string;
}

const FIND = `
select widget_type as type, widget_config -> 'dataQueries' as bindings, refresh_interval as seconds, updated_at::text as version
from widget where id = $1 and tenant_id = $2`;

function inOrder(bindings: readonly WidgetBinding[]): readonly WidgetBinding[] {
  return bindings.toSorted((one, other) => one.executionOrder - other.executionOrder);
}
