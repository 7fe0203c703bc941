/** The panels of the query view in the URL: `g0.expr`, `g0.range_input` … as in Prometheus. Pure. */
import { durationText, secondsOf } from './duration.ts';

export interface Panel {
  readonly expr: string;
  /** How far the graph goes back. Unit: s. */
  readonly range: number;
  /** End of the graph's time range. Unit: s since the epoch; undefined: now. */
  readonly end: number | undefined;
  readonly stacked: boolean;
  readonly log: boolean;
  readonly exemplars: boolean;
}

/** The most panels that a URL opens: each panel sends a query. */
export const maxPanels = 8;

export const defaultPanel: Panel = {
  expr: '',
  range: 900,
  end: undefined,
  stacked: false,
  log: false,
  exemplars: false,
};

/** The ends that a `datetime-local` field can show in every time zone. Units: ms since the epoch. */
const firstEnd = Date.parse('0001-01-02T00:00:00Z');
const lastEnd = Date.parse('9999-12-30T00:00:00Z');

/** The end of a graph as seconds since the epoch; undefined for text that is no time or is out of bounds. */
export function endOf(text: string): number | undefined {
  const end = Date.parse(text);
  return end >= firstEnd && end <= lastEnd ? end / 1000 : undefined;
}

/** The panels in a URL; those without a query are left out. */
export function panelsOf(params: URLSearchParams): Panel[] {
  const panels: Panel[] = [];
  for (let i = 0; i < maxPanels; i++) {
    const expr = params.get(`g${i}.expr`) ?? '';
    if (expr.trim() === '') continue;
    panels.push({
      expr,
      range: secondsOf(params.get(`g${i}.range_input`) ?? '') ?? defaultPanel.range,
      end: endOf(params.get(`g${i}.end_input`) ?? ''),
      stacked: params.get(`g${i}.stacked`) === '1',
      log: params.get(`g${i}.y_scale`) === 'log',
      exemplars: params.get(`g${i}.show_exemplars`) === '1',
    });
  }
  return panels;
}

export function paramsOf(panels: readonly Panel[]): URLSearchParams {
  const params = new URLSearchParams();
  panels
    .filter(({ expr }) => expr.trim() !== '')
    .forEach((panel, i) => {
      params.set(`g${i}.expr`, panel.expr);
      params.set(`g${i}.range_input`, durationText(panel.range));
      if (panel.end !== undefined) params.set(`g${i}.end_input`, new Date(panel.end * 1000).toISOString());
      if (panel.stacked) params.set(`g${i}.stacked`, '1');
      if (panel.log) params.set(`g${i}.y_scale`, 'log');
      if (panel.exemplars) params.set(`g${i}.show_exemplars`, '1');
    });
  return params;
}

/** Parameters of a link that shows one query. */
export function queryParams(expr: string, range = defaultPanel.range): Record<string, string> {
  return { 'g0.expr': expr, 'g0.range_input': durationText(range) };
}
