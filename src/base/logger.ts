import { errorText } from './errors.ts';

/**
 * JSON lines on stderr: `{"level","ts","msg",…fields}`. `ts` is RFC 3339 with milliseconds.
 * Never pass a token, a key or a request body as a field: nothing here redacts.
 */
export interface Logger {
  debug(msg: string, fields?: LogFields): void;
  info(msg: string, fields?: LogFields): void;
  warn(msg: string, fields?: LogFields): void;
  error(msg: string, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

/** Members of a line other than level, time and message. */
export type LogFields = Readonly<Record<string, unknown>>;
/** From the least to the most urgent. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const order: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Which lines are written, and where. */
export interface LoggerOptions {
  /** Lines below this level are dropped. Default `info`. */
  level?: LogLevel;
  /** Where a finished line (with its newline) goes. Default stderr. */
  write?: (line: string) => void;
  /** Wall time in ms. Default the system's. */
  now?: () => number;
}

/** A logger that writes one JSON object per line; `fields` are in every line. */
export function createLogger(options: LoggerOptions = {}, fields: LogFields = {}): Logger {
  const min = order[options.level ?? 'info'];
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  const now = options.now ?? Date.now;
  const emit = (level: LogLevel, msg: string, extra?: LogFields): void => {
    if (order[level] < min) return;
    write(formatLine(level, now(), msg, extra ? { ...fields, ...extra } : fields));
  };
  return {
    debug: (msg, extra) => emit('debug', msg, extra),
    info: (msg, extra) => emit('info', msg, extra),
    warn: (msg, extra) => emit('warn', msg, extra),
    error: (msg, extra) => emit('error', msg, extra),
    with: (extra) => createLogger(options, { ...fields, ...extra }),
  };
}

/** A logger that drops everything, for tests and for libraries that are used without a logger. */
export const silentLogger: Logger = createLogger({ write: () => {} });

function formatLine(level: LogLevel, ms: number, msg: string, fields: LogFields): string {
  const ts = new Date(ms).toISOString();
  const record: Record<string, unknown> = { level, ts, msg };
  for (const [key, value] of Object.entries(fields)) record[key] = value instanceof Error ? errorText(value) : value;
  try {
    return `${serialised(record)}\n`;
  } catch {
    return `${JSON.stringify({ level, ts, msg, logError: 'fields could not be serialised' })}\n`;
  }
}

/** A replacer makes `JSON.stringify` several times as slow, so only a record with a bigint gets one. */
function serialised(record: Record<string, unknown>): string {
  try {
    return JSON.stringify(record);
  } catch {
    return JSON.stringify(record, (_k, v: unknown) => (typeof v === 'bigint' ? v.toString() : v));
  }
}
