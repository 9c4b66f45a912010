import { z } from 'zod';
import { Json } from '#shared/core/json.ts';
import { withOthers } from '#shared/core/record.ts';

const GridPosition = withOthers(
  {
    i: z.string().max(255).meta({ title: 'Widget', description: 'Key of a widget of the dashboard' }),
    x: z.number().meta({ title: 'Column', description: 'Columns to the left of the widget, from 0' }),
    y: z.number().meta({ title: 'Row', description: 'Rows above the widget, from 0' }),
    w: z.number().meta({ title: 'Width', description: 'In columns of the grid' }),
    h: z.number().meta({ title: 'Height', description: 'In rows of the grid' }),
  },
  Json,
).meta({ id: 'DashboardPlace' });

const GridPositions = z.array(GridPosition).max(1_000);

const Layouts = withOthers(
  {
    lg: GridPositions.nullish().meta({
      title: 'Wide screens',
      description: 'Places of the widgets on a wide screen',
    }),
    md: GridPositions.nullish().meta({
      title: 'Medium screens',
      description: 'Places of the widgets on a medium screen',
    }),
    sm: GridPositions.nullish().meta({
      title: 'Narrow screens',
      description: 'Places of the widgets on a narrow screen',
    }),
  },
  Json,
).meta({ id: 'DashboardLayouts' });

/** Widgets in a grid, laid out for each width of the screen. The admin UI reads it: it is stored as it comes. */
export const DashboardConfig = withOthers(
  {
    widgets: z
      .array(z.string().max(255))
      .max(1_000)
      .nullish()
      .meta({ title: 'Widgets', description: 'Keys of the form `widget_<widgetID>_<n>`' }),
    layouts: Layouts.nullish().meta({
      title: 'Layouts',
      description: 'Where the widgets are, by the width of the screen',
    }),
  },
  Json,
).meta({ id: 'DashboardConfig' });
