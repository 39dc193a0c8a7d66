module quick_start

go 1.19
