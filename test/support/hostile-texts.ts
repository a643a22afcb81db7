/**
 * Texts that would be markup, script, or hard to show: for names, messages and values that pages have to draw as what
 * they are.
 */
export const hostileTexts = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  "'-alert(3)-'",
  'javascript:alert(4)',
  '{{constructor.constructor("alert(5)")()}}',
  '</svg><svg onload=alert(6)>',
  '</textarea><iframe srcdoc="<script>alert(7)</script>">',
  '\u202eevil',
  '\u2066isolate',
  'مرحبا بالعالم',
  '\u200bzero\u200dwidth',
  'a\u0000b',
  'tab\tand\nline\r',
  '\u001b[31mred',
  '👩‍👩‍👧‍👦🏳️‍🌈',
  'Z̸͓̈a̷l̶g̸o',
  '&lt;b&gt;',
  '%3Cb%3E/../..',
  '$(touch /tmp/pwned)`id`',
  'a\'b"c\\d',
  '-rf',
  'x'.repeat(10_000),
] as const;
