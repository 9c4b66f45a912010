import type { widgetData } from '#shared/messaging/queues/widget-data.ts';
import { loadWidget } from '../datasources/widgets/load-widget.ts';
import { readData } from '../datasources/widgets/read-data.ts';
import type { RPCHandler } from './answer-requests.ts';

export const answerWidgetData: RPCHandler<typeof widgetData> = async ({ request, signal }, { pool, queries, logger }) =>
  readData({ queries, logger }, await loadWidget(pool, request), { ...request, signal });
