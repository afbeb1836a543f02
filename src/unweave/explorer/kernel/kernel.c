/* The arithmetic of the explorer page: layers of image networks on WebAssembly's 128-bit vectors.
 *
 * No library, no state: every function works on memory that the caller (page/engine.js) lays out. Numbers are float32.
 *
 * Maps are stored with their channels innermost, "pitch" numbers a pixel (a multiple of 4, the rest zeros), and with a
 * border of zeros as wide as the layer that reads them needs; a pointer to maps is a pointer to their first pixel that
 * is read. Distances ("step", "row") are in numbers, not in bytes.
 *
 * Rebuild with `make kernel`.
 */
#include <wasm_simd128.h>

#define EXPORT(name) __attribute__((export_name(#name))) name
#define INLINE static inline __attribute__((always_inline))

typedef v128_t vec;

#define LOAD(p) wasm_v128_load(p)
#define STORE(p, v) wasm_v128_store(p, v)
#define ADD wasm_f32x4_add
#define SUB wasm_f32x4_sub
#define MUL wasm_f32x4_mul
#define SPLAT wasm_f32x4_splat
#define NEAR(p) wasm_v128_load32_splat(p)

/* x for x > 0, slope * x else: slope 1 is the identity, 0 a ReLU. */
INLINE vec activated(vec x, vec slope)
{
	return wasm_v128_bitselect(x, MUL(x, slope), wasm_f32x4_gt(x, SPLAT(0)));
}

/* exp(x), to about 1e-7 of its value; x is clamped to where float32 has a normal result. */
INLINE vec exponential(vec x)
{
	x = wasm_f32x4_min(wasm_f32x4_max(x, SPLAT(-87.3f)), SPLAT(88.3f));
	vec n = wasm_f32x4_nearest(MUL(x, SPLAT(1.44269504088896341f)));
	/* r = x - n log 2 with log 2 in two parts, so that nothing is lost */
	vec r = SUB(SUB(x, MUL(n, SPLAT(0.693359375f))), MUL(n, SPLAT(-2.12194440e-4f)));
	static const float inverse_factorials[] = {1 / 720.f, 1 / 120.f, 1 / 24.f, 1 / 6.f, 0.5f, 1, 1};
	vec sum = SPLAT(1 / 5040.f);
	for (int k = 0; k < 7; k++)
		sum = ADD(MUL(sum, r), SPLAT(inverse_factorials[k]));
	vec power = wasm_i32x4_shl(wasm_i32x4_add(wasm_i32x4_trunc_sat_f32x4(n), wasm_i32x4_splat(127)), 23);
	return MUL(sum, power);
}

INLINE vec sigmoid(vec x)
{
	return wasm_f32x4_div(SPLAT(1), ADD(SPLAT(1), exponential(wasm_f32x4_neg(x))));
}

/* tanh(x): an odd polynomial near 0, where 1 - 2 / (exp(2x) + 1) would lose its digits. */
INLINE vec hyperbolic_tangent(vec x)
{
	vec size = wasm_f32x4_abs(x), square = MUL(x, x);
	vec far = SUB(SPLAT(1), wasm_f32x4_div(SPLAT(2), ADD(exponential(ADD(size, size)), SPLAT(1))));
	/* the Taylor series of (tanh x) / x in x^2 up to x^16, cut where its next term is below 1e-8 of the value */
	static const float series[] = {-929569 / 638512875.f, 21844 / 6081075.f, -1382 / 155925.f, 62 / 2835.f,
		-17 / 315.f, 2 / 15.f, -1 / 3.f, 1};
	vec sum = SPLAT(6404582 / 10854718875.f);
	for (int k = 0; k < 8; k++)
		sum = ADD(MUL(sum, square), SPLAT(series[k]));
	vec sign = wasm_v128_and(x, wasm_u32x4_splat(0x80000000u));
	return wasm_v128_bitselect(MUL(x, sum), wasm_v128_or(far, sign), wasm_f32x4_lt(size, SPLAT(0.35f)));
}

/* ---- loading ---------------------------------------------------------------------------------------------------- */

/* count float16 numbers (rounded up to a multiple of 4), times scale, to float32. */
void EXPORT(expand)(const unsigned short *half, float *out, int count, float scale)
{
	vec unit = SPLAT(scale * 0x1p112f); /* moves the exponent of 5 bits into that of 8; subnormal numbers too */
	for (int i = 0; i < count; i += 4) {
		vec bits = wasm_u32x4_load16x4(half + i);
		vec number = wasm_i32x4_shl(wasm_v128_and(bits, wasm_u32x4_splat(0x7fff)), 13);
		vec sign = wasm_i32x4_shl(wasm_v128_and(bits, wasm_u32x4_splat(0x8000)), 16);
		STORE(out + i, wasm_v128_or(MUL(number, unit), sign));
	}
}

/* count whole numbers of 16 bits (rounded up to a multiple of 4) to float32. */
void EXPORT(expand_fixed)(const short *whole, float *out, int count)
{
	for (int i = 0; i < count; i += 4)
		STORE(out + i, wasm_f32x4_convert_i32x4(wasm_i32x4_load16x4(whole + i)));
}

/* values (rows, columns) times the step of their row, or of their column. */
void EXPORT(rescale)(float *values, const float *steps, int rows, int columns, int by_row)
{
	for (int r = 0; r < rows; r++, values += columns)
		for (int c = 0; c < columns; c++)
			values[c] *= steps[by_row ? r : c];
}

/* Kernels (size, size, inputs, outputs) -> (blocks of 8 outputs, taps down, taps across, pitch, 8), zeros in the rest.
 * Only the taps first + step * i are taken, in this order, for a phase of an up-convolution; inputs from `skip` on. */
void EXPORT(arrange)(const float *kernels, float *out, int size, int inputs, int outputs, int skip, int used, int pitch,
	int first_down, int first_across, int step, int down, int across)
{
	for (int block = 0; block < outputs; block += 8)
		for (int y = 0; y < down; y++)
			for (int x = 0; x < across; x++) {
				int tap = (first_down + step * y) * size + first_across + step * x;
				for (int c = 0; c < pitch; c++)
					for (int o = block; o < block + 8; o++)
						*out++ = c < used && o < outputs ? kernels[(tap * inputs + skip + c) * outputs + o] : 0;
			}
}

/* The same for thin layers: (taps down, taps across, pitch / 4, outputs, 4). */
void EXPORT(arrange_thin)(const float *kernels, float *out, int size, int inputs, int outputs, int skip, int used,
	int pitch, int first_down, int first_across, int step, int down, int across)
{
	for (int y = 0; y < down; y++)
		for (int x = 0; x < across; x++) {
			int tap = (first_down + step * y) * size + first_across + step * x;
			for (int c = 0; c < pitch; c += 4)
				for (int o = 0; o < outputs; o++)
					for (int k = c; k < c + 4; k++)
						*out++ = k < used ? kernels[(tap * inputs + skip + k) * outputs + o] : 0;
		}
}

/* ---- convolutions ----------------------------------------------------------------------------------------------- */

/* `pixels` neighbouring outputs of 8 channels. `run` numbers of each of `down` rows of the input are read. */
INLINE void tile(int pixels, const float *in, int row, int step, const float *weights, int run, int down,
	const float *bias, int bias_step, float *out, int out_step, vec slope)
{
	vec low[6], high[6];
	for (int p = 0; p < pixels; p++) {
		low[p] = LOAD(bias + p * bias_step);
		high[p] = LOAD(bias + p * bias_step + 4);
	}
	for (int y = 0; y < down; y++, in += row) {
		const float *at = in, *end = in + run;
		for (; at < end; at++, weights += 8) {
			vec first = LOAD(weights), second = LOAD(weights + 4);
			for (int p = 0; p < pixels; p++) {
				vec x = NEAR(at + p * step);
				low[p] = ADD(low[p], MUL(x, first));
				high[p] = ADD(high[p], MUL(x, second));
			}
		}
	}
	for (int p = 0; p < pixels; p++) {
		STORE(out + p * out_step, activated(low[p], slope));
		STORE(out + p * out_step + 4, activated(high[p], slope));
	}
}

/* A convolution: (rows, columns) outputs of 8 * blocks channels.
 *
 * The output (i, j) reads `down` rows of `run` numbers from in + i * in_down + j * in_step on. With bias_step and
 * bias_row 0 there is one bias a channel, else one for each output, as the maps of it are laid out. The rows and
 * columns of the output may be those of one phase of a finer image: out_step and out_down say where they are. */
void EXPORT(convolve)(const float *in, int in_row, int in_step, int in_down, const float *weights, int run, int down,
	const float *bias, int bias_step, int bias_down, float *out, int out_step, int out_down, int rows, int columns,
	int blocks, float slope)
{
	vec slopes = SPLAT(slope);
	for (int i = 0; i < rows; i++, in += in_down, bias += bias_down, out += out_down)
		for (int block = 0; block < blocks; block++) {
			const float *kernels = weights + block * 8 * run * down, *x = in, *b = bias + 8 * block;
			float *y = out + 8 * block;
			int left = columns;
			for (; left >= 4; left -= 4, x += 4 * in_step, b += 4 * bias_step, y += 4 * out_step)
				tile(4, x, in_row, in_step, kernels, run, down, b, bias_step, y, out_step, slopes);
			if (left == 3)
				tile(3, x, in_row, in_step, kernels, run, down, b, bias_step, y, out_step, slopes);
			else if (left == 2)
				tile(2, x, in_row, in_step, kernels, run, down, b, bias_step, y, out_step, slopes);
			else if (left == 1)
				tile(1, x, in_row, in_step, kernels, run, down, b, bias_step, y, out_step, slopes);
		}
}

/* The sums of the four numbers of each of four vectors. */
INLINE vec sums(vec a, vec b, vec c, vec d)
{
	vec ab = ADD(wasm_i32x4_shuffle(a, b, 0, 4, 2, 6), wasm_i32x4_shuffle(a, b, 1, 5, 3, 7));
	vec cd = ADD(wasm_i32x4_shuffle(c, d, 0, 4, 2, 6), wasm_i32x4_shuffle(c, d, 1, 5, 3, 7));
	return ADD(wasm_i64x2_shuffle(ab, cd, 0, 2), wasm_i64x2_shuffle(ab, cd, 1, 3));
}

/* As `tile`, for at most 4 output channels: the vectors run along the input channels. */
INLINE void thin_tile(int pixels, int outputs, const float *in, int row, int step, const float *weights, int run,
	int down, const float *bias, int bias_step, float *out, int out_step, vec slope)
{
	vec total[8][4];
	for (int p = 0; p < pixels; p++)
		for (int o = 0; o < 4; o++)
			total[p][o] = SPLAT(0);
	for (int y = 0; y < down; y++, in += row)
		for (const float *at = in, *end = in + run; at < end; at += 4, weights += 4 * outputs)
			for (int p = 0; p < pixels; p++) {
				vec x = LOAD(at + p * step);
				for (int o = 0; o < outputs; o++)
					total[p][o] = ADD(total[p][o], MUL(x, LOAD(weights + 4 * o)));
			}
	for (int p = 0; p < pixels; p++) {
		vec sum = sums(total[p][0], total[p][1], total[p][2], total[p][3]);
		STORE(out + p * out_step, activated(ADD(sum, LOAD(bias + p * bias_step)), slope));
	}
}

INLINE void thin_rows(int pixels, int outputs, const float *in, int in_row, int in_step, int in_down,
	const float *weights, int run, int down, const float *bias, int bias_step, int bias_down, float *out, int out_step,
	int out_down, int rows, int columns, vec slope)
{
	for (int i = 0; i < rows; i++, in += in_down, bias += bias_down, out += out_down) {
		const float *x = in, *b = bias;
		float *y = out;
		int left = columns;
		for (; left >= pixels; left -= pixels, x += pixels * in_step, b += pixels * bias_step, y += pixels * out_step)
			thin_tile(pixels, outputs, x, in_row, in_step, weights, run, down, b, bias_step, y, out_step, slope);
		for (; left > 0; left--, x += in_step, b += bias_step, y += out_step)
			thin_tile(1, outputs, x, in_row, in_step, weights, run, down, b, bias_step, y, out_step, slope);
	}
}

/* As `convolve`, for at most 4 output channels and an input pitch that is a multiple of 4; the output has pitch 4. */
void EXPORT(convolve_thin)(const float *in, int in_row, int in_step, int in_down, const float *weights, int run,
	int down, const float *bias, int bias_step, int bias_down, float *out, int out_step, int out_down, int rows,
	int columns, int outputs, float slope)
{
#define ROWS(pixels, outputs) \
	thin_rows(pixels, outputs, in, in_row, in_step, in_down, weights, run, down, bias, bias_step, bias_down, out, \
		out_step, out_down, rows, columns, SPLAT(slope))
	if (outputs == 1)
		ROWS(8, 1);
	else if (outputs == 2)
		ROWS(4, 2);
	else if (outputs == 3)
		ROWS(4, 3);
	else
		ROWS(2, 4);
#undef ROWS
}

/* ---- convolutions with fewer multiplications -------------------------------------------------------------------- */

/* Winograd's convolution with stride 1 and kernels of size 3 to 5, at the six points 0, 1, -1, 2, -2 and infinity: a
 * tile of 6 x 6 inputs gives 7 - size outputs along each axis, with 36 products instead of (size (7 - size))^2. In one
 * dimension
 *
 *     outputs = A^T ((G kernel) * (B^T inputs))
 *
 * Lavin and Gray, Fast algorithms for convolutional neural networks, 2016; B^T is that of their F(4, 3), A and G are
 * the powers of the points, for other sizes of the kernel. */
#define POINTS 6

/* B^T of six vectors, `step` apart. */
INLINE void to_points(const vec *x, int step, vec *out, int out_step)
{
	vec a = x[0], b = x[step], c = x[2 * step], d = x[3 * step], e = x[4 * step], f = x[5 * step];
	vec four = SPLAT(4), five = SPLAT(5), two = SPLAT(2);
	vec even = SUB(e, MUL(four, c)), odd = SUB(d, MUL(four, b));
	vec near = SUB(e, c), far = MUL(two, SUB(d, b));
	out[0] = ADD(SUB(MUL(four, a), MUL(five, c)), e);
	out[out_step] = ADD(even, odd);
	out[2 * out_step] = SUB(even, odd);
	out[3 * out_step] = ADD(near, far);
	out[4 * out_step] = SUB(near, far);
	out[5 * out_step] = ADD(SUB(MUL(four, b), MUL(five, d)), f);
}

/* A^T of six vectors: `outputs` sums, of which the i-th weighs a point by its i-th power. */
INLINE void from_points(int outputs, const vec *x, int step, vec *out, int out_step)
{
	vec ones = ADD(x[step], x[2 * step]), difference = SUB(x[step], x[2 * step]);
	vec twos = ADD(x[3 * step], x[4 * step]), other = SUB(x[3 * step], x[4 * step]);
	float power = 1;
	for (int i = 0; i < outputs; i++, power *= 2) {
		vec sum = i % 2 ? ADD(difference, MUL(SPLAT(power), other)) : ADD(ones, MUL(SPLAT(power), twos));
		if (i == 0)
			sum = ADD(sum, x[0]);
		if (i == outputs - 1)
			sum = ADD(sum, x[5 * step]);
		out[i * out_step] = sum;
	}
}

/* G kernels G^T: (size, size, inputs, outputs) -> (36 points, blocks of 8 outputs, pitch, 8), zeros in the rest. */
void EXPORT(arrange_points)(const float *kernels, float *out, int size, int inputs, int outputs, int skip, int used,
	int pitch)
{
	static const float point[] = {0, 1, -1, 2, -2, 0}, share[] = {1 / 4.f, -1 / 6.f, -1 / 6.f, 1 / 24.f, 1 / 24.f, 1};
	double g[POINTS][5];
	for (int p = 0; p < POINTS; p++) {
		double power = 1;
		for (int k = 0; k < size; k++, power *= point[p])
			g[p][k] = p == POINTS - 1 ? k == size - 1 : share[p] * power;
	}
	int blocks = (outputs + 7) / 8, stride = blocks * pitch * 8;
	for (int o = 0; o < outputs; o++)
		for (int c = 0; c < used; c++) {
			double half[POINTS][5];
			for (int p = 0; p < POINTS; p++)
				for (int x = 0; x < size; x++) {
					half[p][x] = 0;
					for (int y = 0; y < size; y++)
						half[p][x] += g[p][y] * kernels[((y * size + x) * inputs + skip + c) * outputs + o];
				}
			float *at = out + (o / 8 * pitch + c) * 8 + o % 8;
			for (int p = 0; p < POINTS; p++)
				for (int q = 0; q < POINTS; q++, at += stride) {
					double sum = 0;
					for (int x = 0; x < size; x++)
						sum += half[p][x] * g[q][x];
					*at = (float)sum;
				}
		}
}

/* One row of tiles: the inputs at the points, (36, tiles, pitch). */
static void row_to_points(const float *in, int row, int pitch, int side, int tiles, float *out)
{
	for (int t = 0; t < tiles; t++)
		for (int c = 0; c < pitch; c += 4) {
			vec across[POINTS * POINTS], down[POINTS * POINTS];
			for (int y = 0; y < POINTS; y++) {
				vec x[POINTS];
				for (int k = 0; k < POINTS; k++)
					x[k] = LOAD(in + y * row + (t * side + k) * pitch + c);
				to_points(x, 1, across + y * POINTS, 1);
			}
			for (int x = 0; x < POINTS; x++)
				to_points(across + x, POINTS, down + x, POINTS);
			for (int p = 0; p < POINTS * POINTS; p++)
				STORE(out + (p * tiles + t) * pitch + c, down[p]);
		}
}

/* One row of tiles: from the products at the points, (36, tiles, pitch), to the outputs that are inside the image. */
INLINE void row_from_points(int side, const float *in, int tiles, int pitch, const float *bias, int bias_step,
	int bias_row, float *out, int row, int rows, int columns, vec slope)
{
	for (int t = 0; t < tiles; t++)
		for (int c = 0; c < pitch; c += 4) {
			vec down[5 * POINTS];
			for (int x = 0; x < POINTS; x++) {
				vec points[POINTS];
				for (int y = 0; y < POINTS; y++)
					points[y] = LOAD(in + ((y * POINTS + x) * tiles + t) * pitch + c);
				from_points(side, points, 1, down + x, POINTS);
			}
			for (int i = 0; i < side && i < rows; i++) {
				vec sums[5];
				from_points(side, down + i * POINTS, 1, sums, 1);
				for (int j = 0; j < side && t * side + j < columns; j++) {
					int place = t * side + j;
					vec sum = ADD(sums[j], LOAD(bias + i * bias_row + place * bias_step + c));
					STORE(out + i * row + place * pitch + c, activated(sum, slope));
				}
			}
		}
}

/* As `convolve`, by these points; `work` has room for 36 * tiles * (pitch + 8 * blocks) and 8 * blocks zeros in front. */
void EXPORT(convolve_points)(const float *in, int in_row, int pitch, const float *weights, int size, const float *bias,
	int bias_step, int bias_row, float *out, int out_row, int rows, int columns, int blocks, float slope, float *work)
{
	int side = 7 - size, tiles = (columns + side - 1) / side, out_pitch = 8 * blocks;
	float *zeros = work, *inputs = work + out_pitch, *products = inputs + POINTS * POINTS * tiles * pitch;
	for (int i = 0; i < rows; i += side, in += side * in_row, out += side * out_row, bias += side * bias_row) {
		row_to_points(in, in_row, pitch, side, tiles, inputs);
		for (int p = 0; p < POINTS * POINTS; p++)
			convolve(inputs + p * tiles * pitch, 0, pitch, 0, weights + p * out_pitch * pitch, pitch, 1, zeros, 0, 0,
				products + p * tiles * out_pitch, out_pitch, 0, 1, tiles, blocks, 1);
#define FROM(side) \
	row_from_points(side, products, tiles, out_pitch, bias, bias_step, bias_row, out, out_row, rows - i, columns, \
		SPLAT(slope))
		if (side == 2)
			FROM(2);
		else if (side == 3)
			FROM(3);
		else
			FROM(4);
#undef FROM
	}
}

/* ---- layers of vectors ------------------------------------------------------------------------------------------ */

/* out = activated(weights (outputs, inputs) in + bias); in, out and the rows of the weights are padded with zeros to a
 * multiple of 4, and there are weights for a multiple of 4 outputs. */
void EXPORT(linear)(const float *in, const float *weights, const float *bias, float *out, int inputs, int outputs,
	float slope)
{
	for (int o = 0; o < outputs; o += 4, weights += 4 * inputs) {
		const float *a = weights, *b = a + inputs, *c = b + inputs, *d = c + inputs;
		vec s = SPLAT(0), t = s, u = s, v = s;
		for (int i = 0; i < inputs; i += 4) {
			vec x = LOAD(in + i);
			s = ADD(s, MUL(x, LOAD(a + i)));
			t = ADD(t, MUL(x, LOAD(b + i)));
			u = ADD(u, MUL(x, LOAD(c + i)));
			v = ADD(v, MUL(x, LOAD(d + i)));
		}
		STORE(out + o, activated(ADD(sums(s, t, u, v), LOAD(bias + o)), SPLAT(slope)));
	}
}

/* tanh in place; count is a multiple of 4. */
void EXPORT(tanh_all)(float *values, int count)
{
	for (int i = 0; i < count; i += 4)
		STORE(values + i, hyperbolic_tangent(LOAD(values + i)));
}

/* values = values * scale + shift, in place: channels a pixel, (rows, columns) pixels `step` and `down` apart. */
void EXPORT(scale_shift)(float *values, const float *scale, const float *shift, int channels, int step, int down,
	int rows, int columns)
{
	for (int i = 0; i < rows; i++, values += down)
		for (int j = 0; j < columns; j++)
			for (int c = 0; c < channels; c += 4) {
				float *at = values + j * step + c;
				STORE(at, ADD(MUL(LOAD(at), LOAD(scale + c)), LOAD(shift + c)));
			}
}

/* Layer norm in place, then the activation: activated((x - mean) / sqrt(variance + epsilon) * scale + shift). */
void EXPORT(layer_norm)(float *values, const float *scale, const float *shift, int count, float epsilon, float slope)
{
	double mean = 0, variance = 0;
	for (int i = 0; i < count; i++)
		mean += values[i];
	mean /= count;
	for (int i = 0; i < count; i++)
		variance += (values[i] - mean) * (values[i] - mean);
	float factor = (float)(1 / __builtin_sqrt(variance / count + epsilon));
	for (int i = 0; i < count; i++) {
		float y = (float)(values[i] - mean) * factor * scale[i] + shift[i];
		values[i] = y > 0 ? y : slope * y;
	}
}

/* ---- between vectors and maps ----------------------------------------------------------------------------------- */

/* (rows, columns) pixels of `channels` numbers from one layout to another. */
void EXPORT(relay)(const float *in, int in_step, int in_down, float *out, int out_step, int out_down, int channels,
	int rows, int columns)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
			for (int c = 0; c < channels; c++)
				out[i * out_down + j * out_step + c] = in[i * in_down + j * in_step + c];
}

/* The first layer of a Spatial Broadcast decoder: what the code gives to each border class, plus what the coordinates
 * give to each pixel. classes (row classes, column classes, pitch), constant (rows, columns, pitch). */
void EXPORT(spread)(const float *classes, const int *row_class, const int *column_class, int column_classes,
	const float *constant, float *out, int out_down, int pitch, int rows, int columns, float slope)
{
	vec slopes = SPLAT(slope);
	for (int i = 0; i < rows; i++, out += out_down)
		for (int j = 0; j < columns; j++, constant += pitch) {
			const float *of_class = classes + (row_class[i] * column_classes + column_class[j]) * pitch;
			for (int c = 0; c < pitch; c += 4)
				STORE(out + j * pitch + c, activated(ADD(LOAD(of_class + c), LOAD(constant + c)), slopes));
		}
}

/* An image of channels, height and width in [0, 1] to pixels: (x - mean) / deviation of each channel. */
void EXPORT(image_in)(const float *image, const float *mean, const float *deviation, float *out, int step, int down,
	int channels, int rows, int columns)
{
	for (int c = 0; c < channels; c++)
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < columns; j++)
				out[i * down + j * step + c] = (*image++ - mean[c]) / deviation[c];
}

/* Pixels to an image of channels, height and width in [0, 1]: the sigmoid, or x * scale + shift, clamped. */
void EXPORT(image_out)(const float *in, int step, int down, const float *scale, const float *shift, int logits,
	float *image, int channels, int rows, int columns)
{
	float *start = image;
	for (int c = 0; c < channels; c++)
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < columns; j++)
				*image++ = in[i * down + j * step + c] * scale[c] + shift[c];
	for (float *at = start; at < image; at += 4) {
		vec x = LOAD(at);
		STORE(at, logits ? sigmoid(x) : wasm_f32x4_min(wasm_f32x4_max(x, SPLAT(0)), SPLAT(1)));
	}
}
