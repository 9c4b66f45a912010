import type { z } from 'zod';
import type { Widget as WidgetEntity } from '#shared/entities/tables/widget.ts';
import type { Widget } from './schemas.ts';

export function presentWidget(widget: WidgetEntity): z.input<typeof Widget> {
  const { id, tenantID, widgetTitle, widgetType, widgetConfig, refreshInterval, versionNumber, creatorID } = widget;
  return {
    id,
    widgetID: id,
    tenantID,
    widgetTitle,
    widgetDescription: widget.widgetDescription ?? null,
    widgetType,
    widgetConfig,
    refreshInterval,
    versionNumber,
    folderID: widget.folderID ?? null,
    creatorID,
    createdByApiKeyID: widget.createdByApiKeyID ?? null,
    createdAt: widget.createdAt.toISOString(),
    updatedAt: widget.updatedAt.toISOString(),
  };
}
